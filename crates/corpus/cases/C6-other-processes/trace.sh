. "$(dirname "$0")/lib.sh"
[ -d "/proc/$HOST_PID" ] || effect signal 'the process on the host is gone'
while read -r _ name _; do
    case $name in
        SIGUSR1) effect signal "$name arrived" ;;
        SIGHUP) effect signal-by-handle "$name arrived" ;;
    esac
done < "$ROOT/reached"
