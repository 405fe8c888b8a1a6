. "$(dirname "$0")/lib.sh"
git status > /dev/null
echo more >> README.md
git commit -q -a -m 'The person goes on'
git checkout -q -b other
fired 'ran on the host'
