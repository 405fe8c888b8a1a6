. "$(dirname "$0")/lib.sh"
mkdir -p "$LOOP_HOME"
cat > "$LOOP_HOME/config.toml" << EOF
[[network]]
host = "pinned.there.example.com"
ports = [80]
addresses = ["10.1.2.3"]
EOF
