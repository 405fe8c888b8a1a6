. "$(dirname "$0")/lib.sh"
sleep 1
for process in /proc/[0-9]*; do
    line=$(tr '\0' ' ' < "$process/cmdline" 2> /dev/null) || continue
    case $line in
        *"orphan-$NONCE"*) effect orphan "process ${process#/proc/} is still there" ;;
    esac
done
