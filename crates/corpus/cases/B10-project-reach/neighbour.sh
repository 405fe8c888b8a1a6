# What the owner lists can be read.
. "$(dirname "$0")/lib.sh"
[ "$(cat "$OUTSIDE/shared/file")" = kept ] || fail 'the configuration does not apply'
