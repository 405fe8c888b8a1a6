. "$(dirname "$0")/lib.sh"
# Unaltered, receipt and ledger hold.
set -eu
"$LOOP" exec --quiet --report "$REPORT" -- sh -c 'echo changed >> src/data.txt'
receipt=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["receipt"])' "$REPORT")
"$LOOP" receipt verify "$receipt" --allow unverified > /dev/null
