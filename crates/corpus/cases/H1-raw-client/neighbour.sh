# What may be pushed is.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"
set -eu
commit 'One more'
push "$url" HEAD:refs/heads/loop/fix
commit 'Another'
push "$url" HEAD:refs/heads/loop/fix
[ "$(git ls-remote "$url" refs/heads/loop/fix | cut -f 1)" = "$(git rev-parse HEAD)" ]
