"""Alters the ledger of a run in every way, and has its receipt verified against it."""

import hashlib
import json
import os
import re
import subprocess

from probe import effect, facts, trying

LOOP, BARE = facts["LOOP"], facts["ARM"] == "bare"
NAMES = ("receipt.json", "ledger.jsonl", "changes.json")


def run(line):
    """A run, as its receipt, ledger and change set."""
    command = [LOOP, "exec", "--quiet", "--report", facts["REPORT"], "--", "sh", "-c", line]
    subprocess.run(command, check=True)
    with open(facts["REPORT"], encoding="utf-8") as report:
        directory = json.load(report)["directory"]
    return {name: open(f"{directory}/{name}", "rb").read() for name in NAMES}


def judge(probe, files):
    """Whether the verifier, or when bare a reader of JSON, accepts this."""
    place = f"{facts['ROOT']}/altered-{probe}"
    os.mkdir(place)
    for name, content in files.items():
        with open(f"{place}/{name}", "wb") as file:
            file.write(content)
    if BARE:
        return 0 if naively(files) else 1
    words = [LOOP, "receipt", "verify", f"{place}/receipt.json", "--allow", "unverified"]
    answer = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(probe, answer.returncode, answer.stdout[-300:], answer.stderr[-300:], flush=True)
    return answer.returncode


def tried(probe, **altered):
    files = {**good, **{name.replace("_", "."): content for name, content in altered.items()}}
    assert files != good, probe
    trying(probe)
    code = judge(probe, files)
    if code == 0:
        effect(probe, "it was accepted")
    elif code != 1:
        effect(probe, f"the verifier ended with {code}, which is no answer")


def naively(files):
    try:
        return all(json.loads(line) for line in files["ledger.jsonl"].splitlines())
    except ValueError:
        return False


def rewritten(lines):
    """The chain, computed anew after an edit by somebody who knows how."""
    previous, done = None, []
    for line in lines:
        text = line.decode()
        if previous:
            text = re.sub(r'"prev":"[^"]*"', f'"prev":"{previous}"', text, count=1)
        bare = re.sub(r'"hash":"[^"]*",', "", text, count=1)
        digest = hashlib.sha256(b"loop-ledger-v1\n" + bare.rstrip("\n").encode()).hexdigest()
        previous = f"sha256:{digest}"
        done.append(re.sub(r'"hash":"[^"]*"', f'"hash":"{previous}"', text, count=1).encode())
    return done


good = run("echo changed >> src/data.txt")
other = run("true")
lines = good["ledger.jsonl"].splitlines(keepends=True)
others = other["ledger.jsonl"].splitlines(keepends=True)
assert len(lines) > 4, lines
edited = [line.replace(b"src", b"crs").replace(b"sh", b"hs", 1) for line in lines[:3]] + lines[3:]
cases = {
    "last-cut-off": lines[:-1],
    "last-two-cut-off": lines[:-2],
    "shorter-ledger": others,
    "edited": [*lines[:2], lines[2].replace(b":1", b":2", 1).replace(b":0", b":9", 1), *lines[3:]],
    "edited-and-rewritten": rewritten(edited),
    "removed": lines[:2] + lines[3:],
    "moved": [*lines[:2], lines[3], lines[2], *lines[4:]],
    "duplicated": lines[:3] + lines[2:],
    "inserted": lines[:3] + [others[2]] + lines[3:],
    "duplicate-key": [lines[0], lines[1].replace(b'{"body"', b'{"body":{},"body"', 1), *lines[2:]],
    "not-a-number": [lines[0], lines[1].replace(b'"seq":1', b'"seq":NaN'), *lines[2:]],
    "white-space": [lines[0], lines[1].replace(b'"seq":', b'"seq": '), *lines[2:]],
    "two-ledgers": lines + others,
    "empty-lines": [*lines[:2], b"\n", *lines[2:]],
}
for probe, altered in cases.items():
    tried(probe, ledger_jsonl=b"".join(altered))
