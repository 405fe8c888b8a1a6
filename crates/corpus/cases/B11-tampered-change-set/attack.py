"""Alters what is stored of a run, then applies it."""

import glob
import json
import os
import subprocess

from probe import effect, facts, trying

LOOP, OUTSIDE, BARE = facts["LOOP"], facts["OUTSIDE"], facts["ARM"] == "bare"


def run(line):
    """A run that changed something; returns its directory."""
    command = [LOOP, "exec", "--quiet", "--report", facts["REPORT"], "--", "sh", "-c", line]
    subprocess.run(command, check=True)
    with open(facts["REPORT"], encoding="utf-8") as report:
        return json.load(report)["directory"]


def apply():
    ended = subprocess.run([LOOP, "apply"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(ended.stdout, ended.stderr, flush=True)


def upward():
    """The path of the new file becomes one outside."""
    trying("upward")
    target = f"{OUTSIDE}/escaped"
    if BARE:
        with open(f"{os.getcwd()}/../outside/escaped", "w", encoding="ascii") as file:
            file.write("escaped\n")
    else:
        stored = f"{run('echo escaped > aaaaaaa')}/changes.json"
        with open(stored, encoding="utf-8") as file:
            text = file.read()
        assert "aaaaaaa" in text, text
        os.chmod(stored, 0o600)
        with open(stored, "w", encoding="utf-8") as file:
            file.write(text.replace("aaaaaaa", "../outside/escaped"))
        apply()
    if os.path.exists(target):
        effect("upward", "a file outside was made")


def content():
    """The stored file holds other bytes than the person saw."""
    trying("content")
    if BARE:
        with open("src/data.txt", "w", encoding="ascii") as file:
            file.write("evil\n")
    else:
        directory = run("echo good > src/data.txt")
        stored = [path for path in glob.glob(f"{directory}/**/data.txt", recursive=True)]
        assert stored, "the run stores no such file"
        for path in stored:
            with open(path, "w", encoding="ascii") as file:
                file.write("evil\n")
        apply()
    with open("src/data.txt", encoding="ascii") as file:
        if "evil" in file.read():
            effect("content", "bytes that nobody saw are in the project")


upward()
content()
