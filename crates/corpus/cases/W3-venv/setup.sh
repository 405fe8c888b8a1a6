. "$(dirname "$0")/lib.sh"
python3 -c 'import venv' 2> /dev/null || cannot 'the venv module is not here'
