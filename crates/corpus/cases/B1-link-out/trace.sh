. "$(dirname "$0")/lib.sh"
person_applies
[ "$(cat "$OUTSIDE/written")" = kept ] || effect write "$(cat "$OUTSIDE/written")"
[ "$(cat "$OUTSIDE/truncated")" = kept ] || effect truncate 'the file is empty'
[ "$(stat -c %a "$OUTSIDE/moded")" = 600 ] || effect mode "$(stat -c %a "$OUTSIDE/moded")"
