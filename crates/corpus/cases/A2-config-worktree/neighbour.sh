# A second worktree with settings of its own works.
set -eu
git config extensions.worktreeConfig true
git worktree add -q "$PWD/second" -b second
git -C second config --worktree user.name Second
git -C second commit -q --allow-empty -m 'There'
[ "$(git -C second log -1 --format=%an)" = Second ]
