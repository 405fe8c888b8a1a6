. "$(dirname "$0")/lib.sh"

site=$ROOT/internet/git/site.git
for probe in plain encoded slashes compressed; do
    at=$(git -C "$site" rev-parse "refs/heads/$probe")
    [ "$at" = "$BASE" ] || effect "$probe" "the branch is at $at"
done
