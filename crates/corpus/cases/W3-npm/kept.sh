. "$(dirname "$0")/lib.sh"
person_applies
if [ -n "$LOOP" ] && [ "$ARM" != bare ]; then
    [ -L node_modules/greet ] || fail "the link was not applied: $(cat "$ROOT/apply.out")"
    [ "$(readlink node_modules/greet)" = ../packages/greet ] || fail "it is $(readlink node_modules/greet)"
fi
