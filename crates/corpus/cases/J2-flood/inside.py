"""The agent: one ask, and at a word a hundred."""

import os
import signal
import sys
import time


def ask(word):
    child = os.fork()
    if child == 0:
        try:
            os.execv(".case/inside.sh", ["inside.sh", word])
        except OSError:
            os._exit(1)
    return child


def ended(child):
    return os.waitpid(child, os.WNOHANG)[0] != 0


first = ask("first")
sys.stdin.readline()
left = [ask(f"flood-{number}") for number in range(100)]
end = time.monotonic() + 10
while len(left) > 20 and time.monotonic() < end:
    time.sleep(0.05)
    left = [child for child in left if not ended(child)]
print("flooded", flush=True)
sys.stdin.readline()
for child in left:
    os.kill(child, signal.SIGKILL)
