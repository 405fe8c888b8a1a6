. "$(dirname "$0")/lib.sh"
for path in src/new.py .editorconfig docs/page.md; do
    [ -s "$path" ] || fail "$path is not in the project"
done
