. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"
set -eu
serve_site
base=$(git rev-parse HEAD)
fact BASE "$base"
for branch in main stable kept last; do git -C "$site" update-ref "refs/heads/$branch" "$base"; done
# A branch with work of somebody else's.
theirs=$(git -C "$site" commit-tree -p "$base" -m Theirs "$base^{tree}")
git -C "$site" update-ref refs/heads/theirs "$theirs"
fact THEIRS "$theirs"
