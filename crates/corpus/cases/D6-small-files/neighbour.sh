# A thousand files.
set -eu
mkdir some
for number in $(seq 1000); do echo x > "some/$number"; done
[ "$(ls some | wc -l)" = 1000 ]
