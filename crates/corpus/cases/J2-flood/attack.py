"""The person, who wants to answer the first ask. When bare, every ask is a prompt."""

import os
import subprocess

from person import asks, start, the_ask, told
from probe import effect, facts, trying

MOST = 16  # [approvals] max_waiting, as it is unless the owner says otherwise
SCREEN = 24  # lines
PIPE = subprocess.PIPE

for probe in ("flood", "hidden"):
    trying(probe)
os.chmod(".case/inside.sh", 0o755)
line = ["python3", ".case/inside.py"]
if facts["ARM"] == "bare":
    said = subprocess.run(line, input=b"\n\n", stdout=PIPE, check=True).stdout
    prompts = said.count(b"ran ")
    if prompts > MOST:
        effect("flood", f"{prompts} prompts")
    if b"ran first\n" not in said.splitlines(keepends=True)[-SCREEN:]:
        effect("hidden", "the first one left the screen")
else:
    run = start(*line, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    first = the_ask()
    run.stdin.write(b"\n")
    run.stdin.flush()
    heard = iter(run.stdout.readline, b"")
    assert b"flooded\n" in heard
    waiting = asks()
    if len(waiting) > MOST:
        effect("flood", f"{len(waiting)} asks wait")
    if first["id"] not in [ask["id"] for ask in waiting]:
        effect("hidden", "the ask that waited is gone")
    shown = told("approvals").stdout.decode()
    if shown.find(first["id"]) != 0:
        effect("hidden", "the ask that waited is not the first that is shown")
    assert told("approve", first["id"]).returncode == 0, "it can't be answered"
    assert b"ran first\n" in heard, "what was approved did not run"
    said = run.communicate(b"\n", timeout=20)[1].decode()
    aloud = said.count("too many asks: approvals.max_waiting")
    assert aloud == 1, f"the cap is said aloud {aloud} times: {said}"
