# A linked worktree that git makes is one.
set -eu
git worktree add -q second -b second
echo there > second/there
git -C second add there
git -C second commit -q -m There
