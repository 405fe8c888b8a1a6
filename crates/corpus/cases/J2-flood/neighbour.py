"""A few asks at once all wait, and each is answered."""

import os
import subprocess

from person import asks, start, told, wait_until

os.chmod(".case/inside.sh", 0o755)
script = "for i in 1 2 3 4 5; do .case/inside.sh $i & done; wait"
run = start("sh", "-c", script, stdout=subprocess.PIPE)
wait_until("five asks", lambda: len(asks()) == 5)
for ask in asks():
    assert told("approve", ask["id"]).returncode == 0
out, _ = run.communicate(timeout=20)
assert sorted(out.splitlines()) == [f"ran {number}".encode() for number in range(1, 6)], out
