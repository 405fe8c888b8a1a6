. "$(dirname "$0")/lib.sh"
person_applies
[ ! -e "$OUTSIDE/new" ] || effect new-link 'the file is there'
[ ! -e "$OUTSIDE/swapped" ] || effect swapped-directory 'the file is there'
