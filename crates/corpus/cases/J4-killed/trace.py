"""The record of what was started is there and intact."""

import json
import subprocess

from probe import effect, facts


def loop(*words):
    return subprocess.run([facts["LOOP"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def recorded():
    answer = loop("audit", "--json")
    print(answer.stderr, flush=True)
    if answer.returncode != 0:
        return False
    try:
        report = json.loads(answer.stdout)
    except ValueError:
        return False
    kinds = [record["kind"] for record in report["records"]]
    return report["chain"]["intact"] and "run.start" in kinds and "exec.intent" in kinds


if not recorded():
    effect("record", "no intact record says what was started")
if facts["ARM"] != "bare" and loop("exec", "--quiet", "--", "true").returncode != 0:
    effect("next-command", "it does not work")
