. "$(dirname "$0")/lib.sh"
if [ "$ARM" = bare ]; then
    SOME_VARIABLE=$CANARY python3 .case/inside.py
    exit
fi
export SOME_VARIABLE=$CANARY
"$LOOP" exec --quiet --profile "$ROOT/profile.toml" --session warm -- true
"$LOOP" exec --quiet --session warm -- python3 .case/inside.py
"$LOOP" stop warm > /dev/null
