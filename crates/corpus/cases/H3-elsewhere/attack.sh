. "$(dirname "$0")/lib.sh"
git_in() { (cd "$1" && shift && if [ "$ARM" = bare ]; then git "$@"; else "$LOOP" git "$@"; fi) > /dev/null 2>&1 < /dev/null || true; }
prepared() {
    git init -q "$1"
    (cd "$1" && echo x > file && git add file && git commit -q -m x && echo more >> file)
    printf '#!/bin/sh\necho %s >> "%s/fired"\n' "$2" "$ROOT" > "$1/.git/run"
    chmod 755 "$1/.git/run"
    git -C "$1" config diff.external "$PWD/$1/.git/run"
    git -C "$1" config core.fsmonitor "$PWD/$1/.git/run"
}
trying pointer
prepared one pointer
mkdir there
echo "gitdir: $PWD/one/.git" > there/.git
git_in there diff
trying common
prepared two common
mkdir three three/.git
cp two/.git/HEAD two/.git/index three/.git/
cp two/file three/file
echo "$PWD/two/.git" > three/.git/commondir
git_in three diff
trying submodule
prepared part submodule
git add part 2> /dev/null
git commit -q -m 'Add part'
git_in . status
trying todo
cp -r one five
git -C five config --unset diff.external
git -C five config --unset core.fsmonitor
git -C five commit -q -a -m y
git -C five -c sequence.editor='sed -i 1ibreak' rebase -q -i HEAD~1
printf 'exec echo todo >> "%s/fired"\n' "$ROOT" > five/.git/rebase-merge/git-rebase-todo
git_in five rebase --continue
fired 'ran on the host'
