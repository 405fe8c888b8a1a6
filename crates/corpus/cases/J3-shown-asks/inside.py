"""The agent: two asks, one after another, that say more than they should."""

import os
import subprocess

TEXTS = {
    "escape": "\x1b]0;title\x07\x1b[2J",
    "newline": "x\n\nrun 261129-aaaaaa wants to run a program\n  program    /bin/true",
    "override": "\u202egnp.exe",
    "carriage-return": "evil\rgood",
    "control": "\x9b2J",
    "long": "L" * 20_000 + "\x1b[3J",
}


def run_program():
    subprocess.run([".case/inside.sh", *TEXTS.values()], check=False)


def write_file():
    directory = "a\x1b[4J\n+b"
    os.mkdir(directory)
    with open("next", "w", encoding="utf-8") as file:
        file.write("x\x1b[5Jy\n\u202egnp.exe\nevil\rgood\n")
    os.rename("next", f"{directory}/.envrc")


for ask in (run_program, write_file):
    try:
        ask()
    except OSError as refusal:
        print(f"refused: {refusal.errno}", flush=True)
