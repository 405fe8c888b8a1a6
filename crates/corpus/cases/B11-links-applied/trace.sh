. "$(dirname "$0")/lib.sh"
person_applies
[ ! -L absolute ] || effect absolute "it leads to $(readlink absolute)"
[ ! -L upward ] || effect upward "it leads to $(readlink upward)"
[ ! -L README.md ] || effect replaced "it leads to $(readlink README.md)"
[ ! -e "$OUTSIDE/new" ] || effect beneath 'the file is there'
