# Hooks that are kept as ordinary files of the project can be written, and commits work.
set -eu
mkdir -p tools
printf '#!/bin/sh\nexit 0\n' > tools/pre-commit
chmod 755 tools/pre-commit
git add tools
git commit -q -m 'Inside'
