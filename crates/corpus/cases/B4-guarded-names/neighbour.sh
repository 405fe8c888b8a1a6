# Renames and hard links of ordinary files work.
set -eu
mv src/data.txt src/renamed.txt
ln src/renamed.txt src/second.txt
echo four >> src/second.txt
grep -q four src/renamed.txt
mv -f src/second.txt src/sum.py
