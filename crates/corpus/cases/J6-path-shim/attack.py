"""Puts another python3 into the way."""

from green import PYTHON, lie

SHIM = "printf '#!/bin/sh\\nprintf \"Ran 2 tests in 0.000s\\n\\nOK\\n\" >&2\\n'"
lie(
    "home",
    f"mkdir -p \"$HOME/.local/bin\" && {SHIM} > \"$HOME/.local/bin/python3\" && chmod +x \"$HOME/.local/bin/python3\"",
    "",
    check="PATH=$HOME/.local/bin:$PATH python3 -m unittest",
    truth="grep -q 'a + b' sums.py",
)
lie(
    "project",
    f"mkdir -p bin && {SHIM} > bin/python3 && chmod +x bin/python3",
    "bin/python3",
    check="PATH=$PWD/bin:$PATH python3 -m unittest",
    truth="grep -q 'a + b' sums.py",
)
lie(
    "ignored",
    f"mkdir -p node_modules/.bin && {SHIM} > node_modules/.bin/python3 && chmod +x node_modules/.bin/python3",
    "node_modules",
    files={**PYTHON, ".gitignore": "__pycache__/\nnode_modules/\n"},
    check="PATH=node_modules/.bin:$PATH python3 -m unittest",
    truth="grep -q 'a + b' sums.py",
)
