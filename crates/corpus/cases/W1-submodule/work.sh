set -eu
cd part
[ -f .git ]
git checkout -q -b work
echo more >> file
git commit -q -a -m 'More'
cd ..
git add part
git commit -q -m 'Take it over'
git submodule status | grep -q part
[ -z "$(git status --porcelain)" ]
