set -eu
. "$(dirname "$0")/lib.sh"
for name in written truncated moded; do echo kept > "$OUTSIDE/$name"; done
chmod 600 "$OUTSIDE/moded"
