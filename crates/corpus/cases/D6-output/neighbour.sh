# Half of what is allowed comes out whole.
head -c 524288 /dev/zero | tr '\0' 'x'
