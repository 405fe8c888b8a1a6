set -eu
. "$(dirname "$0")/lib.sh"
mkdir "$OUTSIDE/there"
echo visible > "$OUTSIDE/there/file"
