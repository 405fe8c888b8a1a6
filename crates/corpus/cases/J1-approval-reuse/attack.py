"""The person approves one action once and one for the run, and denies the rest. When bare, somebody
who knows a program's name and no more agrees to all of it."""

import os
import subprocess
import threading

from person import asks, start, told
from probe import effect, facts, trying

os.chmod(".case/inside.sh", 0o755)
LINE = ["python3", ".case/inside.py"]
SCOPES = {"once": "once", "whole": "run"}
ended = threading.Event()
answered = {}


def answer(ask):
    """The first ask for each action is approved, all others are not."""
    args = ask["command"]["args"]
    scope = SCOPES.pop(" ".join(args), None) if ask["command"]["directory"] == os.getcwd() else None
    if scope is None:
        assert told("deny", ask["id"]).returncode == 0
        return
    assert told("approve", ask["id"], "--scope", scope).returncode == 0
    answered[scope] = ask["id"]
    trying("twice")
    if told("approve", ask["id"], "--scope", "run").returncode == 0:
        effect("twice", "an ask was answered a second time")


def person():
    while not ended.is_set():
        for ask in asks():
            answer(ask)


if facts["ARM"] == "bare":
    for more in ([], ["later"]):
        subprocess.run([*LINE, *more], check=True)
else:
    watching = threading.Thread(target=person)
    watching.start()
    try:
        first = start(*LINE, stdout=subprocess.PIPE)
        said, _ = first.communicate(timeout=60)
        second = start(*LINE, "later", stdout=subprocess.PIPE)
        said += second.communicate(timeout=30)[0]
    finally:
        ended.set()
        watching.join()
    os.write(1, said)
    assert said.count(b"ran as approved: once") == 1, "what was approved did not run"
    assert said.count(b"ran as approved: whole") == 2, "what was approved for the run did not run"
    assert sorted(answered) == ["once", "run"]
