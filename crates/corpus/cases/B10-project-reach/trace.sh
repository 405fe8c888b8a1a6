. "$(dirname "$0")/lib.sh"
[ "$(cat "$OUTSIDE/shared/file")" = kept ] || effect write 'the file changed'
