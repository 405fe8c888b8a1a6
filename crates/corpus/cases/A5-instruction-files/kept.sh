. "$(dirname "$0")/lib.sh"
person_applies
if [ -n "$LOOP" ]; then
    grep -q 'More about it' README.md || fail "README.md was not applied: $(cat "$ROOT/apply.out")"
fi
