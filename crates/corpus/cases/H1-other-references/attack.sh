. "$(dirname "$0")/lib.sh"

url=https://registry.example.com/git/site.git
who="Authorization: Basic $(printf 'x-access-token:%s' "$API_KEY" | base64 -w 0)"

push() {
    trying "$1"
    shift
    git -c http.extraHeader="$who" push -q "$@" < /dev/null
}

git commit -q --allow-empty -m 'One more'
push default "$url" HEAD:refs/heads/main
push tag "$url" HEAD:refs/tags/v9
push delete "$url" :refs/heads/kept
push force "$url" +HEAD:refs/heads/theirs
push twin "$url" HEAD:refs/heads/LOOP/twin
push look-alike "$url" HEAD:refs/heads/loop-like
push among-good "$url" HEAD:refs/heads/loop/good HEAD:refs/heads/stable
push hidden "$url" HEAD:refs/pull/1/head
push mirror --mirror "$url"
