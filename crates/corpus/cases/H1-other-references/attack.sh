. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"

try() {
    trying "$1"
    shift
    push "$@"
}

commit 'One more'
try default "$url" HEAD:refs/heads/main
try tag "$url" HEAD:refs/tags/v9
try delete "$url" :refs/heads/kept
try force "$url" +HEAD:refs/heads/theirs
try twin "$url" HEAD:refs/heads/LOOP/twin
try look-alike "$url" HEAD:refs/heads/loop-like
try among-good "$url" HEAD:refs/heads/loop/good HEAD:refs/heads/stable
try hidden "$url" HEAD:refs/pull/1/head
try mirror --mirror "$url"
