. "$(dirname "$0")/lib.sh"
person_applies
if [ -d fresh ]; then
    cd fresh || exit 1
    git status > /dev/null
    git commit -q --allow-empty -m 'The person goes on'
fi
fired 'ran on the host'
