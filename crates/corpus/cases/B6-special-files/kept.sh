. "$(dirname "$0")/lib.sh"
person_applies
if [ -n "$LOOP" ]; then
    [ -x program ] || fail 'the program was not applied as executable'
fi
