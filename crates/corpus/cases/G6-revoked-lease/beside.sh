. "$(dirname "$0")/lib.sh"
[ -n "$LOOP" ] && [ "$ARM" != bare ] || exit 0
for _ in $(seq 200); do
    grep -q '^ready' "$OUTPUT" && break
    sleep 0.05
done
"$LOOP" lease revoke provider
