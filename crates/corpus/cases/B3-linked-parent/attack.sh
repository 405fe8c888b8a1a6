. "$(dirname "$0")/lib.sh"
trying new-link
ln -s "$OUTSIDE" out
echo new > out/new
trying swapped-directory
rm -r src
ln -s "$OUTSIDE" src
echo new > src/swapped
