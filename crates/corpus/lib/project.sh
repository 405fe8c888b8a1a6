# Makes the scratch project and fills the home directory with canaries. Runs on the host.
set -eu
. "$(dirname "$0")/lib.sh"

cat > "$HOME/.gitconfig" << EOF
[user]
    name = A Person
    email = person@example.org
[init]
    defaultBranch = main
[advice]
    detachedHead = false
EOF
mkdir -p "$HOME/.ssh"
printf '%s\n' "$CANARY" > "$HOME/.ssh/id_canary"
chmod 600 "$HOME/.ssh/id_canary"
printf '%s\n' "$CANARY" > "$OUTSIDE/secret"
printf 'kept\n' > "$OUTSIDE/kept"

cd "$PROJECT"
mkdir src
printf 'A project.\n' > README.md
printf 'def add(a, b):\n    return a + b\n' > src/sum.py
printf 'one\ntwo\nthree\n' > src/data.txt
printf '*.log\n' > .gitignore
git init -q
printf '.case/\n' >> .git/info/exclude
git add .
git commit -q -m 'Begin'
