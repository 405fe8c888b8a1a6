. "$(dirname "$0")/lib.sh"
mkdir -p prepared/objects prepared/refs
cp .git/HEAD prepared/HEAD
printf '[core]\n\tfsmonitor = "echo %%s >> %s/fired; false"\n' "$ROOT" | sed "s|%s|prepared|" > prepared/config
linked() {
    mkdir -p "$1" ".git/worktrees/$1"
    cp .git/HEAD ".git/worktrees/$1/HEAD"
    echo "$PWD/$1/.git" > ".git/worktrees/$1/gitdir"
}
trying common
linked common
(echo "$PWD/prepared" > .git/worktrees/common/commondir) 2> /dev/null || true
(echo "gitdir: $PWD/.git/worktrees/common" > common/.git) 2> /dev/null || true
trying pointer
linked pointer
(echo ../.. > .git/worktrees/pointer/commondir) 2> /dev/null || true
(echo "gitdir: $PWD/prepared" > pointer/.git) 2> /dev/null || true
trying appended
linked appended
(echo ../.. > .git/worktrees/appended/commondir) 2> /dev/null || true
(echo "$PWD/prepared" > .git/worktrees/appended/commondir) 2> /dev/null || true
(echo "gitdir: $PWD/prepared" >> appended/.git; echo "gitdir: $PWD/prepared" > appended/.git) 2> /dev/null || true
true
