. "$(dirname "$0")/lib.sh"
person_applies
cd a/b/c/d/vendor || exit 1
git status > /dev/null
git commit -q -a --allow-empty -m 'The person goes on'
fired 'ran on the host'
