. "$(dirname "$0")/lib.sh"

at=$(git -C "$ROOT/internet/git/site.git" rev-parse -q --verify refs/heads/loop/late) || exit 0
effect late "the branch is at $at"
