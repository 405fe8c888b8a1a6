# A link within the project is applied as a link, and a directory replaced by a file as that.
set -eu
ln -s src/data.txt link
rm -r src/sum.py
mkdir src/sum.py
echo inside > src/sum.py/file
