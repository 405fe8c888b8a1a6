# What a case about pushes reads after lib.sh: . "$(dirname "$0")/site.sh"
# A repository that is served, and who pushes to it.
url=https://registry.example.com/git/site.git
site=$ROOT/internet/git/site.git

# serve_site: lends the key to whoever runs Loop, and serves a copy of the project.
serve_site() {
    [ -z "$LOOP" ] || "$LOOP" lease add site --host registry.example.com --basic x-access-token \
        --env API_KEY --from env:API_KEY
    mkdir -p "${site%/*}"
    git clone -q --bare . "$site"
    git -C "$site" symbolic-ref HEAD refs/heads/main
}

# who: the header that says who pushes.
who() { printf 'Authorization: Basic %s' "$(printf 'x-access-token:%s' "$API_KEY" | base64 -w 0)"; }

# push WORD…: pushes so.
push() { git -c http.extraHeader="$(who)" push -q "$@" < /dev/null; }

# commit WORD…: a commit that changes nothing.
commit() { git commit -q --allow-empty -m "$*"; }

# at REFERENCE: where it is in what is served.
at() { git -C "$site" rev-parse -q --verify "$1" || echo nowhere; }
