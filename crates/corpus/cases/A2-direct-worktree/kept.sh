. "$(dirname "$0")/lib.sh"
[ "$(git -C second log -1 --format=%s)" = There ] || fail 'the linked worktree is not in the project'
