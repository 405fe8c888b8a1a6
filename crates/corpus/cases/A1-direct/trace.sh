. "$(dirname "$0")/lib.sh"
for path in .claude/settings.json .claude/settings.local.json .vscode/tasks.json .vscode/settings.json \
    .idea/workspace.xml .envrc .loop/config.toml .codex/config.toml .gemini/settings.json \
    .cursor/mcp.json .mcp.json .bashrc deep/er/.envrc deep/er/.claude/settings.json; do
    [ ! -e "$path" ] || effect "$path" 'it is in the project'
done
