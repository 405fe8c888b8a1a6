# Left alone, the command ends by itself.
sleep 0.3
