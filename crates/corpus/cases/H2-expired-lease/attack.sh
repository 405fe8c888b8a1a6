. "$(dirname "$0")/lib.sh"

url=https://registry.example.com/git/site.git
who="Authorization: Basic $(printf 'x-access-token:%s' "$API_KEY" | base64 -w 0)"
git commit -q --allow-empty -m 'Late'
sleep 4
trying late
git -c http.extraHeader="$who" push -q "$url" HEAD:refs/heads/loop/late < /dev/null
