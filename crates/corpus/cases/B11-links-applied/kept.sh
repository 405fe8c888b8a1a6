. "$(dirname "$0")/lib.sh"
person_applies
[ "$(readlink link)" = src/data.txt ] || fail "the link was not applied: $(cat "$ROOT/apply.out")"
[ "$(cat src/sum.py/file)" = inside ] || fail "the directory was not applied: $(cat "$ROOT/apply.out")"
