. "$(dirname "$0")/lib.sh"
[ -n "$LOOP" ] && [ "$ARM" != bare ] || exit 0
for words in 'show --json' 'show' 'audit --json' 'lease list --json' 'runs --json' 'diff'; do
    # shellcheck disable=SC2086
    if "$LOOP" $words 2>&1 | grep -qF "$CANARY"; then effect told "loop $words tells it"; fi
done
for place in "$LOOP_HOME" "$XDG_CONFIG_HOME" "$REPORT" "${OUTPUT%.out}.err"; do
    grep -rlaF "$CANARY" "$place" | while read -r file; do effect kept "it is in $file"; done
done
