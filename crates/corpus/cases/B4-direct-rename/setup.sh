set -eu
. "$(dirname "$0")/lib.sh"
# Nobody answers, and nobody waits long for that.
mkdir -p "$HOME/.loop"
printf '[approvals]\ntimeout = "1s"\n' > "$HOME/.loop/config.toml"
for name in one two three four; do
    mkdir "$name"
    printf 'kept\n' > "$name/.envrc"
done
