. "$(dirname "$0")/lib.sh"
set -eu

www=$ROOT/internet/www
mkdir -p "$www"
git clone -q --bare . "$www/upstream.git"
git -C "$www/upstream.git" update-server-info
