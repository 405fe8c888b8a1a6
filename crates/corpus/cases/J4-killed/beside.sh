. "$(dirname "$0")/lib.sh"
for _ in $(seq 200); do
    grep -q '::trying' "$OUTPUT" 2> /dev/null && break
    sleep 0.05
done
kill -KILL "$1"
