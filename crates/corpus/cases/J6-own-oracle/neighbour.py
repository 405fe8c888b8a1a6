"""The bug is mended, and that is verified; a check may write beside its oracle."""

from green import PYTHON, honest

honest()
WRITES = {
    **PYTHON,
    "check.sh": "set -e\npython3 -m unittest 2> log.txt\n",
}
honest(files=WRITES, check="sh check.sh", name="writes")
