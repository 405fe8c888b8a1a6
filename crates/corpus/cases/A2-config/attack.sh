. "$(dirname "$0")/lib.sh"
plant() { printf '#!/bin/sh\necho %s >> "%s/fired"\n[ "%s" != clean ] || cat\n' "$1" "$ROOT" "$1" > "$2"; chmod 755 "$2"; }
trying fsmonitor
plant fsmonitor "$PWD/.git/monitor"
git config core.fsmonitor "$PWD/.git/monitor"
trying hooks-path
mkdir -p .git/other-hooks
plant hooks-path .git/other-hooks/pre-commit
git config core.hooksPath "$PWD/.git/other-hooks"
trying alias
git config alias.st "!echo alias >> '$ROOT/fired'"
trying clean
plant clean "$PWD/.git/clean"
git config filter.x.clean "$PWD/.git/clean"
mkdir -p .git/info
echo '*.md filter=x' >> .git/info/attributes
trying external-diff
plant external-diff "$PWD/.git/differ"
git config diff.external "$PWD/.git/differ"
