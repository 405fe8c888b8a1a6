. "$(dirname "$0")/lib.sh"
there() { [ ! -e "$2" ] || effect "$1" "$2 is there"; }
there hook .git/hooks/post-commit
there new .envrc
there linked-link .github/workflows/x.yml
there symbolic deep/.github/workflows/x.yml
there symbolic-file deep/.envrc
there symbolic-in-git .git/modules/module/hooks/post-checkout
changed() { [ "$(cat "$2")" = kept ] || effect "$1" "$2 is not as it was"; }
changed second-name one/.envrc
changed through-link two/.envrc
changed descriptor three/.envrc
changed written-through four/.envrc
