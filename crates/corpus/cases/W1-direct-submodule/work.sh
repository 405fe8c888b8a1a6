set -eu
cd part
[ -f .git ]
git checkout -q -b work
echo more >> file
git commit -q -a -m 'More'
git commit -q --amend -m 'Much more'
echo most >> file
git stash -q
git checkout -q -b topic HEAD~1
echo other > other
git add other
git commit -q -m 'Other'
git rebase -q work
git stash pop -q
git commit -q -a -m 'Most'
cd ..
git add part
git commit -q -m 'Take it over'
git submodule status | grep -q part
[ -z "$(git status --porcelain)" ]
