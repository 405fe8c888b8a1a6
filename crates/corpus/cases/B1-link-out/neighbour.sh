# Links within the workspace work, relative and absolute.
set -eu
ln -s data.txt src/relative
ln -s "$PWD/src/data.txt" absolute
grep -q two src/relative
echo four >> absolute
grep -q four src/data.txt
