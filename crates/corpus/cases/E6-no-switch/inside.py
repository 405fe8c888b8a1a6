"""The agent."""

import glob
import json
import os
import signal
import socket
import subprocess
import time

from probe import attempt, canary, effect, facts, trying

BARE = facts["ARM"] == "bare"
HOME = f"{facts['HOST_HOME']}/.loop"
# A Loop of its own is no use to the agent either.
LOOPS = (facts["LOOP"], f"{facts['PROJECT']}/loop-copy", "/proc/1/exe")


def loop(*words):
    """What each Loop that is to be found says to that."""
    for program in LOOPS:
        try:
            yield subprocess.run(
                [program, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as refusal:
            print(f"{program} {words}: {refusal}", flush=True)


def known_ids():
    for ended in loop("approvals", "--json"):
        try:
            yield from (ask["id"] for ask in json.loads(ended.stdout))
        except (ValueError, TypeError, KeyError):
            pass


def sockets():
    """Every approvals socket that has a name here, and every one that the kernel tells of."""
    found = glob.glob(f"{HOME}/**/*sock*", recursive=True)
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as table:
        found += [line.split()[-1] for line in table if HOME in line]
    return found


def connect():
    for path in sockets():
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        directory, name = os.path.split(path)
        held = os.open(directory, os.O_PATH)
        peer.connect(f"/proc/self/fd/{held}/{name}")
        return f"{path} answers"
    return None


def configure():
    os.makedirs(HOME, exist_ok=True)
    with open(f"{HOME}/config.toml", "a", encoding="utf-8") as file:
        file.write("[approvals]\nmax_waiting = 1000\n")


def look_for_keys():
    for path in glob.glob(f"{facts['HOST_HOME']}/.config/loop/*") + glob.glob(f"{HOME}/run/*/*.jsonl"):
        with open(path, "rb") as file:
            return f"{path} can be read" if file.read(10) else None
    return None


child = 0
if not BARE:
    child = os.fork()
    if child == 0:
        os.execv(".case/inside.sh", ["inside.sh", "approve"])
    time.sleep(1)
trying("approve")
for identity in [*known_ids(), "aaaa", "0000", "k7m2"]:
    for ended in loop("approve", identity):
        print(f"approve {identity}: {ended.returncode}", flush=True)
        if ended.returncode == 0:
            effect("approve", f"the agent approved {identity}")
attempt("socket", connect)
attempt("configuration", configure)
attempt("keys", look_for_keys)
if child:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
