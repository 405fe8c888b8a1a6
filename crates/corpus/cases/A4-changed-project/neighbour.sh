# Unchanged, it applies.
. "$(dirname "$0")/lib.sh"
[ "$(cat "$OUTSIDE/shared/file")" = kept ] || fail 'the trusted configuration does not apply'
