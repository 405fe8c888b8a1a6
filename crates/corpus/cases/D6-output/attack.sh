. "$(dirname "$0")/lib.sh"
trying output
head -c 16777216 /dev/zero | tr '\0' 'x'
