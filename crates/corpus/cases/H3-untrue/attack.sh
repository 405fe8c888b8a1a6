. "$(dirname "$0")/lib.sh"
git_here() { if [ "$ARM" = bare ]; then git "$@"; else "$LOOP" git "$@"; fi 2> /dev/null < /dev/null || true; }
head=$(git rev-parse HEAD)
forged=$(git commit-tree -m 'Reviewed by nobody' 'HEAD^{tree}')
trying replacement
mkdir -p .git/refs/replace
echo "$forged" > ".git/refs/replace/$head"
git_here log --format=%s HEAD | grep -q 'Reviewed by nobody' && effect replacement 'another commit is shown'
rm -r .git/refs/replace
trying graft
echo "$head $forged" > .git/info/grafts
git_here log --format=%s HEAD | grep -q 'Reviewed by nobody' && effect graft 'another parent is shown'
rm .git/info/grafts
trying borrowed
git init -q "$OUTSIDE/vault"
git -C "$OUTSIDE/vault" commit -q --allow-empty -m "$CANARY"
git -C "$OUTSIDE/vault" rev-parse HEAD > .git/refs/heads/borrowed
echo "$OUTSIDE/vault/.git/objects" > .git/objects/info/alternates
git_here log --format=%s borrowed | grep -q "$CANARY" && effect borrowed 'objects of another repository are shown'
true
