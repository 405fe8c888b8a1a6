# A repository made inside is a repository inside.
set -eu
git init -q fresh
cd fresh
echo text > file
git add file
git commit -q -m 'Begin'
[ "$(git rev-list --count HEAD)" = 1 ]
