. "$(dirname "$0")/lib.sh"
echo visible > "$OUTSIDE/view/file"
