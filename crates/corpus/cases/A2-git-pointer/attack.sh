. "$(dirname "$0")/lib.sh"
prepared() {
    git init -q "$1"
    git -C "$1" config core.fsmonitor "$PWD/$1/run"
    printf '#!/bin/sh\necho %s >> "%s/fired"\n' "$2" "$ROOT" > "$1/run"
    chmod 755 "$1/run"
}
trying subdirectory
prepared tools/one subdirectory
echo "gitdir: $PWD/tools/one/.git" > src/.git
trying project
prepared tools/two project
mv .git .git-before
echo "gitdir: $PWD/tools/two/.git" > .git
