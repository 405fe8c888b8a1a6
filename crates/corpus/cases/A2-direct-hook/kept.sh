. "$(dirname "$0")/lib.sh"
[ "$(git log -1 --format=%s)" = Inside ] || fail 'the commit is not in the project'
[ -x tools/pre-commit ] || fail 'the file is not in the project'
