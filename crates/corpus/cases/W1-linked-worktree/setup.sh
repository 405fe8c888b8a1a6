# Moves the repository aside and makes the project a worktree of it.
set -eu
. "$(dirname "$0")/lib.sh"
mv "$PROJECT/.case" "$ROOT/case-aside"
mv "$PROJECT" "$HOST_HOME/main-repository"
cd "$HOST_HOME/main-repository"
git worktree add -q "$PROJECT" -b linked
mv "$ROOT/case-aside" "$PROJECT/.case"
