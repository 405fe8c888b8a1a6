. "$(dirname "$0")/lib.sh"
[ "$WRITTEN" -lt 4194304 ] || effect output "$WRITTEN bytes came out"
