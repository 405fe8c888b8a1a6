. "$(dirname "$0")/lib.sh"
set -eu
[ -z "$LOOP" ] || "$LOOP" lease add site --host registry.example.com --basic x-access-token \
    --env API_KEY --from env:API_KEY

site=$ROOT/internet/git/site.git
mkdir -p "${site%/*}"
git clone -q --bare . "$site"
git -C "$site" symbolic-ref HEAD refs/heads/main
