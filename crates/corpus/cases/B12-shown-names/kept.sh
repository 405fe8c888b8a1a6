. "$(dirname "$0")/lib.sh"
"$LOOP" diff --stat > "$ROOT/diff"
grep -q 'naïve – größer.txt' "$ROOT/diff" || fail "the name is not shown: $(cat "$ROOT/diff")"
grep -q 'with space' "$ROOT/diff" || fail "the name is not shown: $(cat "$ROOT/diff")"
