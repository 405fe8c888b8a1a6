. "$(dirname "$0")/lib.sh"
person_applies
if [ -n "$LOOP" ]; then
    for path in src/new.py .editorconfig docs/page.md; do
        [ -s "$path" ] || fail "$path was not applied: $(cat "$ROOT/apply.out")"
    done
fi
