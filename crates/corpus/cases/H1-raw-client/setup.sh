. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"
set -eu
serve_site
base=$(git rev-parse HEAD)
fact BASE "$base"
for probe in plain encoded slashes compressed; do
    git -C "$site" update-ref "refs/heads/$probe" "$base"
done
