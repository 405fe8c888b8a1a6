"""The person, who looks at the asks everywhere. When bare, they see what was typed."""

import os
import subprocess

from person import start, the_ask, told, wait_until
from probe import effect, facts, trying

RAW = {
    "escape": b"\x1b]0;",
    "newline": b"\nrun 261129-aaaaaa wants",
    "override": "\u202e".encode(),
    "carriage-return": b"\r",
    "control": "\x9b2J".encode(),
    "long": b"L\x1b[3J",
    "name": b"\x1b[4J",
    "content": b"\x1b[5J",
}
for probe in RAW:
    trying(probe)
os.chmod(".case/inside.sh", 0o755)
line = ["python3", ".case/inside.py"]
if facts["ARM"] == "bare":
    shown = subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout
    for directory in os.listdir(b"."):
        if b"\x1b" in directory:
            shown += directory
            with open(directory + b"/.envrc", "rb") as file:
                shown += file.read()
else:
    with open(f"{facts['ROOT']}/said", "w+b") as said:
        run = start(*line, stdout=subprocess.DEVNULL, stderr=said)
        shown, seen = b"", []
        for number in range(2):
            ask = wait_until("an ask", lambda: the_ask() if the_ask()["id"] not in seen else None)
            seen.append(ask["id"])
            for words in (["approvals"], ["approvals", "--json"], ["deny", ask["id"]]):
                looked = told(*words)
                assert looked.returncode == 0, (words, looked)
                shown += looked.stdout + looked.stderr
        assert run.wait(20) == 0
        said.seek(0)
        shown += said.read()
    for words in (["audit"], ["show"], ["audit", "--json"], ["show", "--json"]):
        shown += told(*words).stdout
for probe, raw in RAW.items():
    if raw in shown:
        effect(probe, "it is shown as it is")
