#!/bin/sh
# Refuses a change that no receipt vouches for. Needs a POSIX shell, Git and loop-verify; docs/ci.md tells the rest.
#
#   ci/verify-receipts.sh BASE      BASE is what the change is measured against, for instance origin/main
#
# Settings, all of the environment:
#   LOOP_TRUST     the trust file; without it, .loop/trust.toml as BASE has it
#   LOOP_RECEIPTS  where receipts lie; without it, .loop/receipts
#   LOOP_ALLOW     what need not hold, as loop-verify's --allow takes it
#   LOOP_COVER     "all" (the default): a receipt must touch every changed path; "none": it need not
#   LOOP_VERIFY    the verifier; without it, loop-verify
#
# Exit codes: 0 receipts vouch for the change; 1 they don't; 2 it could not be judged.
set -eu
LC_ALL=C
export LC_ALL
unset CDPATH GIT_DIR GIT_WORK_TREE GIT_EXTERNAL_DIFF

verify=${LOOP_VERIFY:-loop-verify}
receipts=${LOOP_RECEIPTS:-.loop/receipts}
receipts=${receipts%/}
cover=${LOOP_COVER:-all}

# What happened, then what to do.
cannot() {
    printf 'verify-receipts: %s\n  %s\n' "$1" "$2" >&2
    exit 2
}
refused=0
refuse() {
    printf 'refused: %s\n  %s\n' "$1" "$2"
    refused=1
}
# Git as nobody has configured it to run something.
quiet_git() {
    git -c core.fsmonitor=false -c core.quotePath=true "$@"
}

case ${1-} in
'' | -*) cannot 'no base was given' 'usage: verify-receipts.sh BASE, for instance origin/main' ;;
esac
case $cover in
all | none) ;;
*) cannot "LOOP_COVER is \"$cover\"" 'write all or none' ;;
esac
command -v git >/dev/null 2>&1 || cannot 'there is no git' 'install git'
command -v "$verify" >/dev/null 2>&1 || cannot "there is no $verify" \
    'build it with `cargo build --release -p verifier`, or name it in LOOP_VERIFY'
top=$(quiet_git rev-parse --show-toplevel 2>/dev/null) ||
    cannot 'this is no checkout of a repository' 'run it where the change is checked out'
cd "$top"
quiet_git rev-parse --verify --quiet "$1^{commit}" >/dev/null ||
    cannot "the base $1 is not here" 'fetch the whole history (actions/checkout: fetch-depth: 0)'
base=$(quiet_git merge-base "$1" HEAD) ||
    cannot "the change and $1 have no history in common" \
        'fetch the whole history (actions/checkout: fetch-depth: 0)'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 2' HUP INT TERM

# The change must not say itself whom to trust.
trust=${LOOP_TRUST-}
if [ -z "$trust" ]; then
    trust=$scratch/trust.toml
    quiet_git show "$base:.loop/trust.toml" >"$trust" 2>/dev/null ||
        cannot 'the base has no .loop/trust.toml' \
            'commit one to the base first, or name a trust file of yours in LOOP_TRUST'
fi
[ -r "$trust" ] || cannot "the trust file $trust can't be read" 'see LOOP_TRUST'

quiet_git rev-list HEAD >"$scratch/history"
quiet_git diff --no-ext-diff --no-renames --name-only --diff-filter=AM "$base" HEAD -- ":(literal)$receipts" |
    { grep '/receipt\.json"\{0,1\}$' || :; } >"$scratch/found"
[ -s "$scratch/found" ] || refuse "no receipt in $receipts" \
    "commit receipt.json, ledger.jsonl and changes.json of the run that made the change to $receipts/RUN"

# What to do about the aspects that do not hold, the first of them first.
advice() {
    case $1 in
    *form*) echo 'commit the receipt as Loop wrote it; a newer one may need a newer loop-verify' ;;
    *signature*) echo 'sign with a key that the trust file of the base allows, or have that key added there' ;;
    *chain* | *heads* | *witness*) echo 'commit the ledger.jsonl of this very run, whole and unchanged' ;;
    *subjects*) echo 'commit the changes.json of this very run, unchanged' ;;
    *base*) echo 'this receipt is of another repository or branch: run again from a commit of this one' ;;
    *tree*) echo 'the files are not as the run left them: run again on what is there now, or remove this receipt' ;;
    *outcome*) echo 'run again with a contract, or --check, whose checks pass' ;;
    *) echo 'run again with the policy in force, to its end' ;;
    esac
}

: >"$scratch/touched"
while IFS= read -r file; do
    directory=${file%/receipt.json}
    case $file in
    \"*)
        refuse "$file" 'rename it: letters, digits, dots and hyphens'
        continue
        ;;
    esac
    if [ ! -f "$directory/ledger.jsonl" ] || [ ! -f "$directory/changes.json" ]; then
        refuse "$file" "commit the ledger.jsonl and changes.json of its run to $directory, too"
        continue
    fi
    set -- "$file" --trust "$trust" --ledger "$directory/ledger.jsonl" --changes "$directory/changes.json" \
        --tree . --history "$scratch/history"
    [ ! -f "$directory/heads.jsonl" ] || set -- "$@" --heads "$directory/heads.jsonl"
    [ -z "${LOOP_ALLOW-}" ] || set -- "$@" --allow "$LOOP_ALLOW"
    code=0
    "$verify" "$@" >"$scratch/said" 2>&1 || code=$?
    printf '%s\n' "$file"
    sed 's/^/| /' "$scratch/said"
    case $code in
    0) "$verify" --touched --changes "$directory/changes.json" >>"$scratch/touched" ;;
    1) refuse "$file" "$(advice "$(sed -n 's/^not accepted: //p' "$scratch/said")")" ;;
    *) cannot "$file could not be judged" 'see what the verifier says above' ;;
    esac
done <"$scratch/found"

# Names end with NUL; swapped with LF, they are lines, whatever is in them.
lines() {
    tr '\000\n' '\n\000' | sort -u
}
if [ "$cover" = all ] && [ -s "$scratch/found" ]; then
    quiet_git diff --no-ext-diff --no-renames --name-only -z "$base" HEAD -- . ":(exclude,literal)$receipts" |
        lines >"$scratch/changed"
    lines <"$scratch/touched" >"$scratch/covered"
    comm -23 "$scratch/changed" "$scratch/covered" >"$scratch/uncovered"
    if [ -s "$scratch/uncovered" ]; then
        tr '\000' '?' <"$scratch/uncovered" | cat -v | sed 's/^/| /'
        refuse 'no accepted receipt touches the paths above' \
            'make these changes in a run, or set LOOP_COVER=none if people may change files, too'
    fi
fi
[ "$refused" -eq 0 ] || exit 1
echo 'receipts vouch for this change'
