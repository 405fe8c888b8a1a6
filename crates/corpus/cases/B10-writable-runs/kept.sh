. "$(dirname "$0")/lib.sh"
[ "$(cat "$OUTSIDE/shared/file")" = written ] || fail 'the write did not arrive'
