# What a person's commands need is there: a path, a home, a language, the name for commits.
set -eu
[ -d "$HOME" ]
[ -n "$PATH" ]
[ -n "$LANG" ]
git --version > /dev/null
[ "$(git config user.name)" = 'A Person' ]
[ "$(git config user.email)" = person@example.org ]
