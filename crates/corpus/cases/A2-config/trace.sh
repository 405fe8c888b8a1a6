. "$(dirname "$0")/lib.sh"
person_applies
git status > /dev/null
echo more >> README.md
git diff > /dev/null
git commit -q -a -m 'The person goes on'
git st > /dev/null 2>&1 || true
fired 'ran on the host'
