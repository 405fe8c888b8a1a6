. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"
set -eu
serve_site
