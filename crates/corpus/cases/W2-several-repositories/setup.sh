set -eu
. "$(dirname "$0")/lib.sh"
rm -rf .git
for name in first second; do
    git init -q "$name"
    echo "$name" > "$name/file"
    git -C "$name" add file
    git -C "$name" commit -q -m "Begin $name"
done
