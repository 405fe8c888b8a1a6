# What every shell script of a case starts with: . "$(dirname "$0")/lib.sh"
# Facts become variables; the functions below tell the runner what happens.
. "$(dirname "$0")/facts.sh"

# trying PROBE: the probe is about to be attempted.
trying() { printf '::trying %s %s\n' "$NONCE" "$1"; }

# effect PROBE WORD…: its forbidden effect was seen.
effect() {
    local probe=$1
    shift
    printf '::effect %s %s %s\n' "$NONCE" "$probe" "$*"
}

# cannot WORD…: the case can't be tried here.
cannot() {
    printf '::cannot %s %s\n' "$NONCE" "$*"
    exit 77
}

# fact NAME VALUE: a fact for the scripts that follow.
fact() { printf '::fact %s %s %s\n' "$NONCE" "$1" "$2"; }

# fail WORD…: says why a legitimate thing did not work, and ends.
fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# reached: an effect for every time something reached the stand-in for the host.
reached() {
    local probe detail
    [ -e "$ROOT/reached" ] || return 0
    while read -r probe detail; do effect "$probe" "$detail"; done < "$ROOT/reached"
}

# person_applies: with Loop, the person takes over all that it lets through without a question.
# Any other launcher has nothing to take over.
person_applies() {
    [ -n "$LOOP" ] && [ "$ARM" != bare ] || return 0
    (cd "$PROJECT" && "$LOOP" apply) < /dev/null > "$ROOT/apply.out" 2>&1 || true
}

# fired WORD…: an effect for every planted command that left its name in ROOT/fired.
fired() {
    local probe
    [ -e "$ROOT/fired" ] || return 0
    while read -r probe; do effect "$probe" "$@"; done < <(sort -u "$ROOT/fired")
}
