# Left alone, the command ends and its ledger verifies.
sleep 0.2
