. "$(dirname "$0")/lib.sh"
git init -q "$OUTSIDE/vault"
echo "$CANARY" > "$OUTSIDE/vault/secret"
git -C "$OUTSIDE/vault" add secret
git -C "$OUTSIDE/vault" commit -q -m Secret
vault=$OUTSIDE/vault/.git/objects
tree=$(git -C "$OUTSIDE/vault" rev-parse 'HEAD^{tree}')
cat > "$ROOT/inside.sh" << EOS
set -eu
git checkout -q -b taken
tree=$tree
\$1
commit=\$(printf 'tree $tree\nparent %s\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nTake\n' "\$(git rev-parse HEAD)" | git hash-object -t commit -w --stdin --literally)
git update-ref refs/heads/taken "\$commit"
EOS
take() {
    trying "$1"
    printf '%s\n' "$2" > "$ROOT/how"
    sed "s|^\\\$1\$|. '$PWD/.how'|" "$ROOT/inside.sh" > .inside.sh
    cp "$ROOT/how" .how
    if [ "$ARM" = bare ]; then
        rm -rf "$ROOT/copy-$1"
        cp -r . "$ROOT/copy-$1"
        (cd "$ROOT/copy-$1" && sed -i "s|$PWD/.how|./.how|" .inside.sh && sh .inside.sh) > "$ROOT/$1.out" 2>&1
        git fetch -q "$ROOT/copy-$1" "taken:taken-$1" >> "$ROOT/$1.out" 2>&1
    else
        "$LOOP" exec --quiet -- sh .inside.sh > "$ROOT/$1.out" 2>&1
        "$LOOP" branch "taken-$1" --from taken >> "$ROOT/$1.out" 2>&1
    fi
    git cat-file -p "taken-$1:secret" 2> /dev/null | grep -q "$CANARY" && effect "$1" 'a file outside came along'
    rm -f .inside.sh .how
}
take alternates "echo '$vault' > .git/objects/info/alternates"
take links "for fan in '$vault'/??; do rm -rf \".git/objects/\$(basename \"\$fan\")\"; ln -s \"\$fan\" .git/objects/; done"
true
