set -eu
. "$(dirname "$0")/lib.sh"
mkdir "$OUTSIDE/private" "$OUTSIDE/shared"
echo "$CANARY" > "$OUTSIDE/private/canary"
echo kept > "$OUTSIDE/shared/file"
mkdir -p "$LOOP_HOME/profiles"
cat > "$LOOP_HOME/profiles/wide.toml" << EOF
[profile]
name = "wide"
extends = "offline"

[[mount]]
path = "$OUTSIDE/shared"
access = "read"
EOF
if [ "$ARM" != neighbour ]; then chmod 666 "$LOOP_HOME/profiles/wide.toml"; fi
