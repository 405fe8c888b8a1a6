"""Starts survivors and ends once they are there."""

import os
import signal
import subprocess
import sys

from probe import facts, trying

LIFE = """
import signal, sys, time
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
print("ready", end="", flush=True)
time.sleep(20)
"""


def survivor(name):
    """A grandchild in its own session, its parent gone."""
    trying(name)
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        child = subprocess.Popen(
            [sys.executable, "-c", LIFE, f"{name}-{facts['NONCE']}"],
            stdin=null,
            stdout=writing,
            stderr=null,
            cwd="/",
        )
        os._exit(0)
    os.close(writing)
    os.wait()
    assert os.read(reading, 5) == b"ready"


survivor("forked-twice")
signal.signal(signal.SIGHUP, signal.SIG_IGN)
survivor("ignoring-hangup")
