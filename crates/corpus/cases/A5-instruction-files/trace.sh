. "$(dirname "$0")/lib.sh"
person_applies
look() { grep -q evil.example "$2" 2> /dev/null && effect "$1" "$2 tells the next agent what to do"; }
look changed AGENTS.md
look added CLAUDE.md
look nested src/AGENTS.md
look skill .claude/skills/tidy/SKILL.md
look rules .cursor/rules/all.mdc
look copilot .github/copilot-instructions.md
exit 0
