. "$(dirname "$0")/lib.sh"
person_applies
[ ! -u setuid ] || effect setuid 'a setuid program is there'
[ ! -p pipe ] || effect pipe 'a named pipe is there'
[ ! -S socket ] || effect socket 'a socket is there'
[ ! -c device ] || effect device 'a character device is there'
[ ! -b block ] || effect block-device 'a block device is there'
