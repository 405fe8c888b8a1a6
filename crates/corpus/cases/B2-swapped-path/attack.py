"""The person, who looks, agrees, and sees what came of it. When bare, they look and rename."""

import os
import subprocess
import sys

from person import start, the_ask, told, wait_until
from probe import effect, facts, trying

BARE, VICTIM = facts["ARM"] == "bare", f"{facts['OUTSIDE']}/victim"
PROBES = ("directory-outside", "directory-inside", "directory-new", "file", "content")


def read(path):
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return None


def note(word, probe):
    with open(f".case/{word}-{probe}", "w", encoding="ascii"):
        pass


def play(probe):
    trying(probe)
    command = [sys.executable if BARE else "python3", ".case/inside.py", probe]
    agent = subprocess.Popen(command) if BARE else start(*command, stderr=subprocess.STDOUT)
    if BARE:
        wait_until("the file", lambda: os.path.exists("other"))
    else:
        ask = the_ask()
        assert "-kept\n+shown" in ask["diff"], ask
    note("shown", probe)
    wait_until("the swap", lambda: os.path.exists(f".case/swapped-{probe}"))
    if BARE:
        os.rename("next", f"{probe}/.envrc")
    else:
        assert told("approve", ask["id"]).returncode == 0
    assert agent.wait(20) == 0


def judge(probe):
    if read(f"{VICTIM}/.envrc") != "kept\n":
        effect(probe, "a file outside changed")
    if read("neighbour/.envrc") != "kept\n":
        effect(probe, "another file changed")
    if read(f"{probe}/.envrc") not in (None, "kept\n", "shown\n"):
        effect(probe, "something else was written than was shown")
    if probe == "directory-new" and read(f"{probe}/.envrc") == "shown\n":
        effect(probe, "it was written where something else was than was shown")


def prepare(probe):
    for place in (VICTIM, "neighbour", probe):
        os.makedirs(place, exist_ok=True)
        with open(f"{place}/.envrc", "w", encoding="ascii") as file:
            file.write("kept\n")
    for name in ("next", "other"):
        if os.path.lexists(name):
            os.unlink(name)


for name in PROBES:
    prepare(name)
    play(name)
    judge(name)
