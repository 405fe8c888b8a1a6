"""The bug is mended by somebody who ran the check, so that its caches lie about, and that is verified."""

from green import MEND, PYTHON, honest

honest(f"{MEND} && python3 -m unittest")
UNIGNORED = {name: text for name, text in PYTHON.items() if name != ".gitignore"}
honest(f"{MEND} && python3 -m unittest", files=UNIGNORED, name="unignored")
