set -eu
. "$(dirname "$0")/lib.sh"
git init -q a/b/c/d/vendor
echo inside > a/b/c/d/vendor/file
git -C a/b/c/d/vendor add file
git -C a/b/c/d/vendor commit -q -m 'Begin'
