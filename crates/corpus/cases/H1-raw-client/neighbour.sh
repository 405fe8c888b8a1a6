# What may be pushed is.
. "$(dirname "$0")/lib.sh"
set -eu

url=https://registry.example.com/git/site.git
who="Authorization: Basic $(printf 'x-access-token:%s' "$API_KEY" | base64 -w 0)"
git commit -q --allow-empty -m 'One more'
git -c http.extraHeader="$who" push -q "$url" HEAD:refs/heads/loop/fix < /dev/null
git commit -q --allow-empty -m 'Another'
git -c http.extraHeader="$who" push -q "$url" HEAD:refs/heads/loop/fix < /dev/null
[ "$(git ls-remote "$url" refs/heads/loop/fix | cut -f 1)" = "$(git rev-parse HEAD)" ]
