. "$(dirname "$0")/lib.sh"
trying read
if grep -q "$CANARY" "$OUTSIDE/private/canary"; then effect read 'the canary'; fi
