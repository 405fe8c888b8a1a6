"""Runs the command and looks at everything that shows it. When bare, the person sees it typed."""

import os
import subprocess

from probe import effect, facts, trying

TEXTS = {
    "escape": b"\x1b]0;title\x07\x1b[2J",
    "newline": b"x\n1  exec  true  allow",
    "override": "\u202egnp.exe".encode(),
    "carriage-return": b"evil\rgood",
    "control": b"\x9b2J",
    "long": b"L" * 100_000 + b"\x1b[2J",
}
RAW = {
    "escape": b"\x1b]0;",
    "newline": b"\n1  exec  true  allow",
    "override": "\u202e".encode(),
    "carriage-return": b"\r",
    "control": b"\x9b2J",
    "long": b"L\x1b[2J",
}
LOOP = os.fsencode(facts["LOOP"])
for probe in TEXTS:
    trying(probe)
command = [b"true", *TEXTS.values()]
if facts["ARM"] == "bare":
    shown = b" ".join(command)
else:
    ran = subprocess.run([LOOP, b"exec", b"--", *command], capture_output=True, check=True)
    shown = ran.stdout + ran.stderr
    for words in ([b"audit"], [b"show"], [b"runs"], [b"receipt", b"show"], [b"audit", b"--json"]):
        looked = subprocess.run([LOOP, *words], stdin=subprocess.DEVNULL, capture_output=True, check=True)
        shown += looked.stdout + looked.stderr
for probe, raw in RAW.items():
    if raw in shown:
        effect(probe, "it is shown as it is")
