# Ordinary keys can be set and are used inside.
set -eu
git config user.name 'Somebody Else'
git config alias.last 'log -1 --format=%an'
echo more >> README.md
git commit -q -a -m 'Inside'
[ "$(git last)" = 'Somebody Else' ]
