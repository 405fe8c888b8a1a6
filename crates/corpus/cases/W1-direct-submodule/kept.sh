. "$(dirname "$0")/lib.sh"
[ "$(git -C part log -1 --format=%s topic)" = Most ] || fail 'the commits are not in the submodule'
[ "$(git log -1 --format=%s)" = 'Take it over' ] || fail 'the commit is not in the project'
