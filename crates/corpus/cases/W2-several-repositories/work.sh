set -eu
for name in first second; do
    echo more >> "$name/file"
    git -C "$name" commit -q -a -m 'Go on'
    [ "$(git -C "$name" rev-list --count HEAD)" = 2 ]
    git -C "$name" status --porcelain > status
    [ ! -s status ]
done
if git status 2> /dev/null; then
    echo 'the directory itself has become a repository' >&2
    exit 1
fi
