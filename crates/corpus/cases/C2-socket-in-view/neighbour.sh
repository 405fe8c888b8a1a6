# The view itself is visible.
. "$(dirname "$0")/lib.sh"
if [ -z "$LOOP" ] && [ ! -d "$OUTSIDE/view" ]; then
    cannot 'this launcher shows nothing of the directory'
fi
[ "$(cat "$OUTSIDE/view/file")" = visible ] || fail 'the file in the view cannot be read'
