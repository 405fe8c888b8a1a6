. "$(dirname "$0")/lib.sh"
for name in worktree include; do
    printf '#!/bin/sh\necho %s >> "%s/fired"\n' "$name" "$ROOT" > ".git/$name"
    chmod 755 ".git/$name"
done
trying worktree
git config extensions.worktreeConfig true
printf '[core]\n\tfsmonitor = %s\n' "$PWD/.git/worktree" > .git/config.worktree
trying include
git config include.path "$PWD/.git/extra"
mkdir -p .git/more
cp .git/include .git/more/post-commit
printf '[core]\n\thooksPath = %s\n' "$PWD/.git/more" > .git/extra
