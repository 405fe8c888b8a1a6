. "$(dirname "$0")/lib.sh"
person_applies
git commit -q --allow-empty -m 'The person goes on'
[ ! -e "$ROOT/fired" ] || effect rename 'the hook ran on the host'
cmp -s .git/config "$CASE/config-before" || effect hard-link 'the configuration changed'
