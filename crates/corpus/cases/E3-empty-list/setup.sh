set -eu
. "$(dirname "$0")/lib.sh"
mkdir -p "$LOOP_HOME/profiles"
cat > "$LOOP_HOME/profiles/wide.toml" << EOF
[profile]
name = "wide"
extends = "offline"

[environment]
pass = ["SOME_VARIABLE"]
EOF
