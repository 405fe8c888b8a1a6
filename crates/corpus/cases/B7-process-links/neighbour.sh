# The command's own links work, and it starts with its three streams and nothing else.
set -eu
[ "$(readlink /proc/self/cwd)" = "$PWD" ]
exec 3< src/data.txt
[ "$(head -n 1 /proc/self/fd/3)" = one ]
exec 3<&-
[ -e /dev/stdin ] && [ -e /dev/stdout ] && [ -e /dev/stderr ]
cat <(echo substituted) > /dev/null
