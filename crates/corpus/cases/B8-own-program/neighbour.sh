# A program of the command's own can be run, replaced and run again.
set -eu
cp /bin/true program
./program
rm program
cp /bin/echo program
[ "$(./program again)" = again ]
