# A linked directory within the workspace takes new files.
set -eu
ln -s src sources
echo new > sources/new
[ "$(cat src/new)" = new ]
