# The loader and scripts run what no rule denies.
set -eu
[ "$(/lib64/ld-linux-x86-64.so.2 /bin/echo through)" = through ]
printf '#!/bin/sh\necho script\n' > script
chmod +x script
[ "$(./script)" = script ]
