. "$(dirname "$0")/lib.sh"
person_applies
git status > /dev/null
git commit -q --allow-empty -m 'The person goes on'
fired 'ran on the host'
