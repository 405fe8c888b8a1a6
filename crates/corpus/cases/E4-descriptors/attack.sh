. "$(dirname "$0")/lib.sh"
trying secret
read -r text < "$OUTSIDE/secret" && [ "$text" = "$CANARY" ] && effect secret 'the canary was read'
trying home
read -r text < "$HOST_HOME/.ssh/id_canary" && [ "$text" = "$CANARY" ] && effect home 'the canary was read'
exit 0
