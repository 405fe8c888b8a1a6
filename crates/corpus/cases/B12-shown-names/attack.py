"""One file a kind of name."""

import os

from probe import attempt

NAMES = {
    "escape": b"\x1b]0;title\x07\x1b[2J",
    "newline": b"good\nsecond: all is well",
    "override": "a\u202etxt.exe".encode(),
    "invisible": "READ\u200bME.md".encode(),
    "carriage-return": b"evil\rgood",
    "invalid": b"\x9b2J\xff",
}


def make(name):
    with open(name, "wb") as file:
        file.write(b"x\n")


os.mkdir("names")
for probe, name in NAMES.items():
    attempt(probe, lambda name=name: make(b"names/" + name))
