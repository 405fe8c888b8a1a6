# Pipes and sockets work while the command runs, and a program can be made executable.
set -eu
mkfifo pipe
(echo through > pipe) &
[ "$(cat pipe)" = through ]
wait
rm pipe
printf '#!/bin/sh\nexit 0\n' > program
chmod 755 program
./program
