set -eu
. "$(dirname "$0")/lib.sh"
# Nobody answers, and nobody waits long for that.
mkdir -p "$HOME/.loop"
printf '[approvals]\ntimeout = "1s"\n' > "$HOME/.loop/config.toml"
git init -q "$ROOT/part"
echo part > "$ROOT/part/file"
git -C "$ROOT/part" add file
git -C "$ROOT/part" commit -q -m 'Begin'
git -c protocol.file.allow=always submodule add -q "$ROOT/part" part
git commit -q -m 'Add a part'
