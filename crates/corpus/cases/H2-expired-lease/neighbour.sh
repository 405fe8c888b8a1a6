# In time, it is pushed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"
set -eu
commit 'In time'
push "$url" HEAD:refs/heads/loop/late
