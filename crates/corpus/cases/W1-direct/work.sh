set -eu
git checkout -q -b feature
echo four >> src/data.txt
git add src/data.txt
git commit -q -m 'Four'
git checkout -q main
echo more >> README.md
git commit -q -a -m 'More'
git checkout -q feature
git rebase -q main
git stash list
echo five >> src/data.txt
git stash -q
! grep -q five src/data.txt
git stash pop -q
grep -q five src/data.txt
git commit -q -a --amend -m 'Four and five'
git checkout -q main
git merge -q --no-ff -m 'Merge' feature
git tag -a -m 'One' v1
git blame src/data.txt > /dev/null
git gc -q
git fsck --strict 2> /dev/null
[ -z "$(git status --porcelain)" ]
[ "$(git rev-list --count HEAD)" = 4 ]
git remote add other https://example.com/x.git
git config --get remote.other.url > /dev/null
git init -q fresh
[ "$(git -C fresh config core.symlinks)" != false ]
git branch -m feature renamed
git worktree add -q second -b second
echo there > second/there
git -C second add there
git -C second commit -q -m There
git -C second stash list
