. "$(dirname "$0")/lib.sh"
[ "$(grep -c more src/data.txt)" = 3 ] || fail 'what was written is not in the project'
[ "$(stat -c '%a %s' created)" = '600 2' ] || fail 'the new file is not in the project'
