# A fork bomb. The sandbox's limit on processes ends it.
bomb() { bomb | bomb & }
bomb 2>/dev/null
wait
sleep 30
