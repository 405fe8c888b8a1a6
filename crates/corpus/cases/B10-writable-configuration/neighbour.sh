# A writable mount of anything else works.
. "$(dirname "$0")/lib.sh"
echo written > "$OUTSIDE/shared/file"
