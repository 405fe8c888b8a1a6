. "$(dirname "$0")/lib.sh"
# What there is is shown as plain git shows it.
set -eu
git gc -q
git tag -a v1 -m One
[ "$("$LOOP" git log --all --oneline --decorate)" = "$(git log --all --oneline --decorate)" ]
[ "$("$LOOP" git status)" = "$(git status)" ]
