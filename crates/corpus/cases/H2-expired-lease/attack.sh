. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"

commit 'Late'
sleep 4
trying late
push "$url" HEAD:refs/heads/loop/late
