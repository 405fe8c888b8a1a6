# A linked worktree, whose .git is such a file, works inside.
set -eu
git worktree add -q second -b second
[ -f second/.git ]
git -C second status > /dev/null
