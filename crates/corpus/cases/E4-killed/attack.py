"""Starts a child that would stay, says so, and waits to be killed."""

import subprocess
import sys
import time

from probe import facts, trying

LIFE = "import time; time.sleep(25)"
null = subprocess.DEVNULL
name = f"orphan-{facts['NONCE']}"
subprocess.Popen([sys.executable, "-c", LIFE, name], stdin=null, stdout=null, stderr=null, cwd="/")
trying("orphan")
time.sleep(20)
