# Links of ordinary files land at once and work.
set -eu
ln src/data.txt src/second.txt
echo four >> src/second.txt
ln -s data.txt src/link
echo five >> src/link
ln -s src around
ln -P around again
grep -q five again/data.txt
