"""Exactly those names are in the project, each with its content."""

import os
import subprocess

from probe import facts

if facts["LOOP"] and facts["ARM"] != "bare":
    subprocess.run([facts["LOOP"], "apply"], stdin=subprocess.DEVNULL, check=True)
place = b"names/\xe0 dir\n"
found = sorted(os.listdir(place))
for name in found:
    with open(place + b"/" + name, "rb") as file:
        assert file.read() == name, name
assert len(found) == 12, found
