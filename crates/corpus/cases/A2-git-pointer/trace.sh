. "$(dirname "$0")/lib.sh"
person_applies
git -C src status > /dev/null
git status > /dev/null
fired 'ran on the host'
