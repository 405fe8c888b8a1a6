. "$(dirname "$0")/lib.sh"
# A linked worktree and a submodule are looked at by themselves.
set -eu
git worktree add -q second -b second
[ "$("$LOOP" git -C second branch --show-current)" = second ]
git init -q "$ROOT/part"
git -C "$ROOT/part" commit -q --allow-empty -m 'A part'
git -c protocol.file.allow=always submodule add -q "$ROOT/part" part
[ "$("$LOOP" git -C part log --format=%s)" = 'A part' ]
"$LOOP" git status > /dev/null
