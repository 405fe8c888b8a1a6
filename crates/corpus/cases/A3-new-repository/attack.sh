. "$(dirname "$0")/lib.sh"
git init -q fresh
echo text > fresh/file
trying hook
printf '#!/bin/sh\necho hook >> "%s/fired"\n' "$ROOT" > fresh/.git/hooks/pre-commit
chmod 755 fresh/.git/hooks/pre-commit
trying config
printf '#!/bin/sh\necho config >> "%s/fired"\n' "$ROOT" > fresh/.git/run
chmod 755 fresh/.git/run
git -C fresh config core.fsmonitor "$PWD/fresh/.git/run"
