# Ordinary renames land at once, also of directories that hold guarded files and of links.
set -eu
mv src/data.txt src/renamed.txt
mkdir -p pack/deep
echo x > pack/deep/file
mv pack packed
mv four fourth
ln -s packed link
mv link other
mv -f src/renamed.txt src/sum.py
[ "$(cat other/deep/file)" = x ]
