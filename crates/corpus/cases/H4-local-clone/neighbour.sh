. "$(dirname "$0")/lib.sh"
# Commits that the run made itself come over, and none of its settings.
set -eu
"$LOOP" exec --quiet -- sh -c 'git config alias.x "!false"; echo new > new; git add new; git commit -q -m New'
"$LOOP" branch taken > /dev/null
[ "$(git show taken:new)" = new ]
[ -z "$(git config alias.x)" ]
[ "$(git log -1 --format=%s)" != New ]
git fsck --strict 2> /dev/null
