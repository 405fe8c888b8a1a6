. "$(dirname "$0")/lib.sh"
# An ordinary command is shown as it was typed.
set -eu
"$LOOP" exec --quiet -- echo 'naïve – größer' > /dev/null
"$LOOP" audit > "$ROOT/audit"
grep -q 'naïve – größer' "$ROOT/audit" || fail 'the command is not shown'
