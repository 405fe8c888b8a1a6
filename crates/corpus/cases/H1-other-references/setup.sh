. "$(dirname "$0")/lib.sh"
set -eu
[ -z "$LOOP" ] || "$LOOP" lease add site --host registry.example.com --basic x-access-token \
    --env API_KEY --from env:API_KEY

site=$ROOT/internet/git/site.git
mkdir -p "${site%/*}"
git clone -q --bare . "$site"
git -C "$site" symbolic-ref HEAD refs/heads/main
base=$(git rev-parse HEAD)
fact BASE "$base"
for branch in main stable kept last; do git -C "$site" update-ref "refs/heads/$branch" "$base"; done
# A branch with work of somebody else's.
theirs=$(git -C "$site" commit-tree -p "$base" -m Theirs "$base^{tree}")
git -C "$site" update-ref refs/heads/theirs "$theirs"
fact THEIRS "$theirs"
