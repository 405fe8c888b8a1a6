# Listed, it is passed.
. "$(dirname "$0")/lib.sh"
[ "${SOME_VARIABLE-}" = "$CANARY" ] || fail 'the variable is not passed'
