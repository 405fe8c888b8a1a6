. "$(dirname "$0")/lib.sh"
mkdir -p .git/hooks
for hook in pre-commit post-commit post-checkout prepare-commit-msg; do
    trying "$hook"
    printf '#!/bin/sh\necho %s >> "%s/fired"\n' "$hook" "$ROOT" > ".git/hooks/$hook"
    chmod 755 ".git/hooks/$hook"
done
