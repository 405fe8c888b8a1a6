# Background jobs work while the command runs.
set -eu
(sleep 0.1; echo one > first) &
setsid sh -c 'echo two > second' &
wait
[ "$(cat first second)" = "$(printf 'one\ntwo')" ]
