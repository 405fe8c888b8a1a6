. "$(dirname "$0")/lib.sh"
trap '' HUP INT TERM QUIT USR1 USR2 ALRM
trying time
for _ in $(seq 50); do sleep 0.1; done
effect time 'it went on to its end'
