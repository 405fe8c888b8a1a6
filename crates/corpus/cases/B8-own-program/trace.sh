. "$(dirname "$0")/lib.sh"
cmp -s /bin/sleep "$OUTSIDE/supervisor" || effect host 'the program was overwritten'
[ -z "$LOOP" ] || sha256sum -c --quiet "$CASE/loop-before" || effect first "$LOOP has changed"
