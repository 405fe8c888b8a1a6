set -eu
[ -f .git ]
git status > /dev/null
git log --oneline > /dev/null
echo four >> src/data.txt
git add src/data.txt
git commit -q -m 'Four'
git checkout -q -b another
git stash list
[ "$(git rev-list --count HEAD)" = 2 ]
