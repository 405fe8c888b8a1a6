# A mount that is there is visible.
. "$(dirname "$0")/lib.sh"
[ "$(cat "$OUTSIDE/there/file")" = visible ] || fail 'the mount is not visible'
