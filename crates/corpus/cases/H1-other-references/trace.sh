. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"

is() { [ "$(at "$2")" = "$3" ] || effect "$1" "$2 is at $(at "$2")"; }

is default refs/heads/main "$BASE"
is tag refs/tags/v9 nowhere
is delete refs/heads/kept "$BASE"
is force refs/heads/theirs "$THEIRS"
is twin refs/heads/LOOP/twin nowhere
is look-alike refs/heads/loop-like nowhere
is among-good refs/heads/stable "$BASE"
is hidden refs/pull/1/head nowhere
is mirror refs/heads/last "$BASE"
