set -eu
. "$(dirname "$0")/lib.sh"
mkdir -p "$OUTSIDE/shared" "$HOST_HOME/.config/loop" "$HOST_HOME/.loop"
