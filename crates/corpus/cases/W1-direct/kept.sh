. "$(dirname "$0")/lib.sh"
[ "$(git log -1 --format=%s main)" = Merge ] || fail 'the commits are not in the project'
[ "$(git branch --list renamed)" ] || fail 'the branch is not in the project'
[ "$(git -C second log -1 --format=%s)" = There ] || fail 'the linked worktree is not in the project'
[ -z "$(git -C second status --porcelain)" ] || fail 'the linked worktree is not clean'
