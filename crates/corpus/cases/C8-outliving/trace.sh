. "$(dirname "$0")/lib.sh"
for process in /proc/[0-9]*; do
    line=$(tr '\0' ' ' < "$process/cmdline" 2> /dev/null) || continue
    for name in forked-twice ignoring-hangup; do
        case $line in
            *"$name-$NONCE"*) effect "$name" "process ${process#/proc/} is still there" ;;
        esac
    done
done
