set -eu
. "$(dirname "$0")/lib.sh"
echo 'Be careful.' > AGENTS.md
mkdir -p .claude/skills/tidy
echo 'Tidy up.' > .claude/skills/tidy/SKILL.md
git add .
git commit -q -m 'Instructions'
