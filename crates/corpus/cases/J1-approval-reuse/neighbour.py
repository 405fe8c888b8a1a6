"""What is approved for the run runs as often as it likes, and is asked about once."""

import os
import subprocess

from person import asks, start, the_ask, told

os.chmod(".case/inside.sh", 0o755)
script = "export LABEL=approved; for i in 1 2 3; do .case/inside.sh x; done"
run = start("sh", "-c", script, stdout=subprocess.PIPE)
assert told("approve", the_ask()["id"], "--scope", "run").returncode == 0
out, _ = run.communicate(timeout=20)
assert out.count(b"ran as approved: x") == 3, out
assert asks() == []
