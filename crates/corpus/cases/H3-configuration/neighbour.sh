. "$(dirname "$0")/lib.sh"
# The person's own settings hold, and what is shown is what there is.
set -eu
echo changed >> README.md
"$LOOP" git diff | grep -q '^+changed'
printf '#!/bin/sh\necho mine\n' > "$ROOT/mine"
chmod 755 "$ROOT/mine"
git config --global diff.external "$ROOT/mine"
git config --global alias.look diff
[ "$("$LOOP" git look)" = mine ]
