. "$(dirname "$0")/lib.sh"
git_here() { if [ "$ARM" = bare ]; then git "$@"; else "$LOOP" git "$@"; fi > /dev/null 2>&1 < /dev/null || true; }
plant() {
    trying "$1"
    printf '#!/bin/sh\necho %s >> "%s/fired"\ncat "$1" 2> /dev/null\n' "$1" "$ROOT" > ".git/$1"
    chmod 755 ".git/$1"
}
echo changed >> README.md
echo '*.md diff=x filter=x' > .git/info/attributes
plant monitor
git config core.fsmonitor "$PWD/.git/monitor"
git_here status
git config --unset core.fsmonitor
plant external
git config diff.external "$PWD/.git/external"
git_here diff
git config --unset diff.external
plant textconv
git config diff.x.textconv "$PWD/.git/textconv"
git_here diff
git config --unset diff.x.textconv
plant clean
git config filter.x.clean "$PWD/.git/clean"
git_here diff
git config --unset filter.x.clean
plant smudge
git config filter.x.smudge "$PWD/.git/smudge"
git_here cat-file --filters HEAD:README.md
git config --unset filter.x.smudge
plant alias
git config alias.look "!$PWD/.git/alias"
git_here look
plant included
printf '[diff]\n\texternal = %s\n' "$PWD/.git/included" > .git/extra
git config include.path "$PWD/.git/extra"
git_here diff
fired 'ran on the host'
