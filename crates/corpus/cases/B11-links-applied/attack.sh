. "$(dirname "$0")/lib.sh"
trying absolute
ln -s /etc/passwd absolute
trying upward
ln -s ../../../outside/kept upward
trying replaced
rm README.md
ln -s "$OUTSIDE/kept" README.md
trying beneath
rm -r src
ln -s "$OUTSIDE" src
echo new > src/new
