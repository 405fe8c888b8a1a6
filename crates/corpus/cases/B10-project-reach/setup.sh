set -eu
. "$(dirname "$0")/lib.sh"
mkdir "$OUTSIDE/private" "$OUTSIDE/shared"
echo "$CANARY" > "$OUTSIDE/private/canary"
echo kept > "$OUTSIDE/shared/file"
mkdir -p "$LOOP_HOME" .loop
cat > "$LOOP_HOME/config.toml" << EOF
[[mount]]
path = "$OUTSIDE/shared"
access = "read"
EOF
cat > .loop/config.toml << EOF
[[mount]]
path = "$OUTSIDE/private"
access = "read"

[[mount]]
path = "$OUTSIDE/shared"
access = "write"
EOF
"$LOOP" trust --yes
