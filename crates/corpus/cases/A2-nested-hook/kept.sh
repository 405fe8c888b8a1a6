. "$(dirname "$0")/lib.sh"
person_applies
if [ -n "$LOOP" ]; then
    [ "$(cat a/b/c/d/vendor/file)" = changed ] || fail "the file was not applied: $(cat "$ROOT/apply.out")"
fi
