set -eu
. "$(dirname "$0")/lib.sh"
mkdir "$OUTSIDE/private" "$OUTSIDE/shared"
echo "$CANARY" > "$OUTSIDE/private/canary"
echo kept > "$OUTSIDE/shared/file"
mkdir .loop
cat > .loop/config.toml << EOF
[[mount]]
path = "$OUTSIDE/shared"
access = "read"
EOF
"$LOOP" trust --yes
if [ "$ARM" != neighbour ]; then
    cat >> .loop/config.toml << EOF

[[mount]]
path = "$OUTSIDE/private"
access = "read"
EOF
fi
