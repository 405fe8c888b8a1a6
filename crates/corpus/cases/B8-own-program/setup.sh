set -eu
. "$(dirname "$0")/lib.sh"
cp /bin/sleep "$OUTSIDE/supervisor"
setsid "$OUTSIDE/supervisor" 60 < /dev/null > /dev/null 2>&1 &
fact SUPERVISOR $!
[ -z "$LOOP" ] || sha256sum "$LOOP" > "$CASE/loop-before"
