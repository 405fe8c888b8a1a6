"""Alters the receipt of a run in every way, and has it verified."""

import base64
import json
import os
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
        return bool(json.loads(base64.b64decode(json.loads(files["receipt.json"])["payload"])))
    except (ValueError, KeyError):
        return False


def encoded(envelope):
    return json.dumps(envelope, separators=(",", ":"), sort_keys=True).encode()


def with_statement(change):
    """The envelope around a statement that was changed, its signature as it was."""
    envelope = json.loads(good["receipt.json"])
    text = base64.b64decode(envelope["payload"])
    envelope["payload"] = base64.b64encode(change(text)).decode()
    return encoded(envelope)


def changed(edit):
    def change(text):
        statement = json.loads(text)
        edit(statement)
        return json.dumps(statement, separators=(",", ":"), sort_keys=True).encode()

    return with_statement(change)


def with_signature(edit):
    envelope = json.loads(good["receipt.json"])
    edit(envelope["signatures"])
    return encoded(envelope)


def flip(signatures):
    raw = bytearray(base64.b64decode(signatures[0]["sig"]))
    raw[0] ^= 1
    signatures[0]["sig"] = base64.b64encode(raw).decode()


good = run("echo changed >> src/data.txt")
other = run("echo other >> README.md")
cases = {
    "signature-stripped": with_signature(lambda signatures: signatures.clear()),
    "signature-broken": with_signature(flip),
    "key-id-swapped": with_signature(lambda s: s[0].update(keyid="ed25519:0123456789abcdef")),
    "other-run": other["receipt.json"],
    "subject-extra": changed(lambda s: s["subject"].append({"name": "more", "digest": {"sha256": "0" * 64}})),
    "subject-missing": changed(lambda s: s["subject"].pop()),
    "outcome-claimed": changed(lambda s: s["predicate"].update(outcome="verified")),
    "schema-unknown": changed(lambda s: s.update(predicateType="https://loop.dev/receipt/v9")),
    "duplicate-key": with_statement(lambda text: text.replace(b"{", b'{"_type":"x",', 1)),
    "not-a-number": with_statement(lambda text: text.replace(b"{", b'{"a":NaN,', 1)),
}
for probe, receipt in cases.items():
    tried(probe, receipt_json=receipt)
tried("other-change-set", changes_json=other["changes.json"])
tried("change-set-edited", changes_json=good["changes.json"].replace(b"src", b"crs"))
