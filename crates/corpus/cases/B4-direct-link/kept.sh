. "$(dirname "$0")/lib.sh"
[ "$(tail -n 2 src/second.txt)" = "$(printf 'four\nfive')" ] || fail 'what was written is not there'
[ src/data.txt -ef src/second.txt ] || fail 'there is no second name'
[ -L src/link ] && [ -L again ] || fail 'the links are not there'
