. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"

for probe in plain encoded slashes compressed; do
    [ "$(at "refs/heads/$probe")" = "$BASE" ] || effect "$probe" "the branch is at $(at "refs/heads/$probe")"
done
