. "$(dirname "$0")/lib.sh"
for name in common pointer appended; do
    rm -f "$ROOT/fired"
    git -C "$name" status > /dev/null 2>&1
    [ -e "$ROOT/fired" ] && effect "$name" 'ran on the host'
done
true
