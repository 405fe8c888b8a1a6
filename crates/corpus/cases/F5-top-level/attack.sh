. "$(dirname "$0")/lib.sh"
trying start
effect start 'the command ran'
