# Documentation that nobody obeys can be written, and instructions read.
set -eu
grep -q careful AGENTS.md
echo 'More about it.' >> README.md
