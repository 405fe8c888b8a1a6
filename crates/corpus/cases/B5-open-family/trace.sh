. "$(dirname "$0")/lib.sh"
[ ! -e "$OUTSIDE/created" ] || effect creat 'the file is there'
