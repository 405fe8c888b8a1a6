# Half of what is allowed, and a sparse file that is large by name only.
set -eu
head -c 16777216 /dev/zero > some
truncate -s 1G sparse
rm some sparse
