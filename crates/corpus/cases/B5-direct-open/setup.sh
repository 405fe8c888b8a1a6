set -eu
. "$(dirname "$0")/lib.sh"
# Nobody answers, and nobody waits long for that.
mkdir -p "$HOME/.loop"
printf '[approvals]\ntimeout = "1s"\n' > "$HOME/.loop/config.toml"
for name in open openat openat2 resolve creat cut truncate descriptor link slashes; do
    mkdir -p "guarded/$name"
    printf 'kept\n' > "guarded/$name/.envrc"
done
