. "$(dirname "$0")/lib.sh"
# Unaltered, it is applied.
set -eu
"$LOOP" exec --quiet -- sh -c 'echo good > src/data.txt'
"$LOOP" apply < /dev/null > /dev/null
