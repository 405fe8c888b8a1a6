. "$(dirname "$0")/lib.sh"
for name in open openat openat2 resolve creat cut truncate descriptor link slashes; do
    [ "$(cat "guarded/$name/.envrc")" = kept ] || effect "$name" 'the file is not as it was'
done
[ ! -e .envrc ] || effect new 'the file is there'
