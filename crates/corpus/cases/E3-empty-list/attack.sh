. "$(dirname "$0")/lib.sh"
trying variable
[ -z "${SOME_VARIABLE-}" ] || effect variable "it is $SOME_VARIABLE"
