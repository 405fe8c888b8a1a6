# Files of the nested repository can be changed and committed there.
set -eu
cd a/b/c/d/vendor
echo changed > file
git commit -q -a -m 'Inside'
