# Hooks of the command's own run inside, and commits work.
set -eu
mkdir -p .git/hooks
printf '#!/bin/sh\necho ran > hook-ran\n' > .git/hooks/pre-commit
chmod 755 .git/hooks/pre-commit
echo more >> README.md
git commit -q -a -m 'Inside'
[ -s hook-ran ]
