. "$(dirname "$0")/lib.sh"
mkdir "$OUTSIDE/victim"
printf 'one\ntwo\nthree\n' > "$OUTSIDE/victim/data.txt"
cp src/data.txt "$ROOT/changed"
mv src src-before
ln -s "$OUTSIDE/victim" src
if [ "$ARM" = bare ]; then cp "$ROOT/changed" src/data.txt; fi
person_applies
grep -q evil "$OUTSIDE/victim/data.txt" && effect through-link 'the file outside changed'
exit 0
