. "$(dirname "$0")/lib.sh"
[ "$(cat src/sum.py)" = "$(printf 'one\ntwo\nthree')" ] || fail 'the file is not in the project'
[ -f packed/deep/file ] && [ -L other ] || fail 'the directory or the link is not in the project'
[ "$(cat fourth/.envrc)" = kept ] || fail 'the directory with a guarded file was not moved'
