. "$(dirname "$0")/lib.sh"
# The second command sees what the first one wrote.
set -eu
warm() { "$LOOP" exec --quiet --session warm -- "$@"; }
warm sh -c 'echo first > file'
[ "$(warm cat file)" = first ] || fail 'the second command does not see the file'
[ ! -e file ] || fail 'the file is in the project already'
"$LOOP" stop warm > /dev/null
