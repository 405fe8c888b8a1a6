. "$(dirname "$0")/lib.sh"
nested=a/b/c/d/vendor
trying nested-hook
mkdir -p "$nested/.git/hooks"
printf '#!/bin/sh\necho nested-hook >> "%s/fired"\n' "$ROOT" > "$nested/.git/hooks/pre-commit"
chmod 755 "$nested/.git/hooks/pre-commit"
trying nested-config
printf '#!/bin/sh\necho nested-config >> "%s/fired"\n' "$ROOT" > "$nested/.git/run"
chmod 755 "$nested/.git/run"
git -C "$nested" config core.fsmonitor "$PWD/$nested/.git/run"
echo changed > "$nested/file"
