. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"

[ "$(at refs/heads/loop/late)" = nowhere ] || effect late "the branch is at $(at refs/heads/loop/late)"
