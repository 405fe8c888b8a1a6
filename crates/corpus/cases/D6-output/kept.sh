. "$(dirname "$0")/lib.sh"
[ "$WRITTEN" = 524288 ] || fail "$WRITTEN bytes came out"
