. "$(dirname "$0")/lib.sh"
trying through-link
echo evil >> src/data.txt
