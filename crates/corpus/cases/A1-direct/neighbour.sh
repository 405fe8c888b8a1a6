# Ordinary new files, names with a dot among them.
set -eu
echo new > src/new.py
printf 'root = true\n' > .editorconfig
mkdir -p docs
echo text > docs/page.md
