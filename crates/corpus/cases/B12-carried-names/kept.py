"""Exactly those names are in the project, each with its content. With Loop, names with characters that
don't show are flagged, so the person names them."""

import json
import os
import subprocess
from urllib.parse import unquote_to_bytes

from probe import facts

PLACE = b"names/\xe0 dir\n"


def everything():
    """The paths of the change set, from the form that JSON gives them."""
    shown = subprocess.run(
        [facts["LOOP"], "diff", "--json"], stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    return [unquote_to_bytes(entry["path"]) for entry in json.loads(shown.stdout)["entries"]]


if facts["LOOP"] and facts["ARM"] != "bare":
    named = [word for path in everything() for word in (b"--flagged", path)]
    subprocess.run([facts["LOOP"], "apply", *named], stdin=subprocess.DEVNULL, check=True)
found = sorted(os.listdir(PLACE))
for name in found:
    with open(PLACE + b"/" + name, "rb") as file:
        assert file.read() == name, name
assert len(found) == 12, found
