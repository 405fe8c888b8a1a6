. "$(dirname "$0")/lib.sh"
there() { [ ! -e "$2" ] || effect "$1" "$2 is there"; }
there hook .git/hooks/post-commit
there new .envrc
there around .git/hooks/post-merge
there directory .vscode/tasks.json
there deeper deeper/.github/workflows/x.yml
there from-one-start .github/workflows/x.yml
there into-git .git/modules/module/hooks/post-checkout
there same-name .git/modules/same/config
there alternates .git/objects/info/alternates
there out-of-git out/.envrc
there link .config/fish/config.fish
there swapped-link linked/.github/workflows/x.yml
changed() { [ "$(cat "$2" 2> /dev/null)" = kept ] || effect "$1" "$2 is not as it was"; }
changed over one/.envrc
changed exchange two/.envrc
changed away three/.envrc
