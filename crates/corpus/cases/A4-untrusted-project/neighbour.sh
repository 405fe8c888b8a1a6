# Once the person has trusted that content, it applies.
. "$(dirname "$0")/lib.sh"
grep -q "$CANARY" "$OUTSIDE/private/canary" || fail 'the trusted configuration does not apply'
