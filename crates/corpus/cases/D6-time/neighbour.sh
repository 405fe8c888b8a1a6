# Less than what is allowed.
sleep 0.2
