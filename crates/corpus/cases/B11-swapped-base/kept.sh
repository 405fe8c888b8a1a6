. "$(dirname "$0")/lib.sh"
person_applies
grep -q good src/data.txt || fail "the change was not applied: $(cat "$ROOT/apply.out")"
