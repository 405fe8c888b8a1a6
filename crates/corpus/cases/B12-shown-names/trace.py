"""Looks for each name, as it is, in everything that is shown."""

import subprocess

from probe import effect, facts

RAW = {
    "escape": b"\x1b",
    "newline": b"\nsecond: all is well",
    "override": "\u202e".encode(),
    "invisible": "\u200b".encode(),
    "carriage-return": b"\r",
    "invalid": b"\x9b2J",
}
LOOP = facts["LOOP"]
if facts["ARM"] == "bare":
    commands = [["ls", "-1", "--literal", "--show-control-chars", "names"]]
else:
    commands = [[LOOP, "diff"], [LOOP, "diff", "--stat"], [LOOP, "show"], [LOOP, "audit"],
                [LOOP, "apply", "--dry-run"], [LOOP, "diff", "--json"]]
for command in commands:
    shown = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    for probe, raw in RAW.items():
        if raw in shown.stdout + shown.stderr:
            effect(probe, f"{' '.join(command[1:])} shows it as it is")
