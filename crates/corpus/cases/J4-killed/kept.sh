. "$(dirname "$0")/lib.sh"
"$LOOP" audit --json | grep -q '"intact": *true' || fail 'the ledger is not intact'
