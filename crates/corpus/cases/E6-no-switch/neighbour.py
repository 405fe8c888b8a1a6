"""From a shell of the person's own, the same ask is answered, and the reason arrives."""

import os
import subprocess

from person import start, the_ask, told

os.chmod(".case/inside.sh", 0o755)
run = start("sh", "-c", "./.case/inside.sh x; echo ended $?", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
assert told("deny", the_ask()["id"], "--reason", "not today").returncode == 0
out, err = run.communicate(timeout=20)
assert b"ended 126" in out and b"not today" in err, (out, err)
