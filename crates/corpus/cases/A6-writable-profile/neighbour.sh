# With ordinary modes, it applies.
. "$(dirname "$0")/lib.sh"
[ "$(cat "$OUTSIDE/shared/file")" = kept ] || fail 'the configuration does not apply'
