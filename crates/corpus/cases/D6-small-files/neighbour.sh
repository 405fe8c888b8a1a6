# A few hundred files.
set -eu
mkdir some
for number in $(seq 300); do echo x > "some/$number"; done
[ "$(ls some | wc -l)" = 300 ]
