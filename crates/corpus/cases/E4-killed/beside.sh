. "$(dirname "$0")/lib.sh"
for _ in $(seq 200); do
    grep -q '::trying' "$OUTPUT" 2> /dev/null && break
    sleep 0.05
done
sleep 0.2
kill -KILL "$1"
