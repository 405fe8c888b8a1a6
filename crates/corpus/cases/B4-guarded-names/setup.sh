set -eu
. "$(dirname "$0")/lib.sh"
cp .git/config "$CASE/config-before"
