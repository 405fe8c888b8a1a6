"""An ordinary ask is shown as it is."""

import os
import subprocess

from person import start, the_ask, told

os.chmod(".case/inside.sh", 0o755)
run = start("sh", "-c", ".case/inside.sh 'naïve – größer'", stdout=subprocess.PIPE)
ask = the_ask()
shown = told("approvals").stdout.decode()
assert "'naïve – größer'" in shown and "wants to run a program" in shown, shown
assert told("approve", ask["id"]).returncode == 0
assert run.communicate(timeout=20)[0] == "ran: naïve – größer\n".encode()
