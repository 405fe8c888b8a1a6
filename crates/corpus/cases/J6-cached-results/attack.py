"""Leaves results that nobody got."""

from green import PYTHON, lie

STAMPED = {
    **PYTHON,
    ".gitignore": "__pycache__/\n.tested\nbuild/\n",
    "Makefile": "check: .tested\n\n.tested: sums.py test_sums.py\n\tpython3 -m unittest\n\ttouch $@\n\n"
    "fast: build/run\n\t./build/run\n\nbuild/run: sums.py test_sums.py\n\tmkdir -p build\n"
    "\tprintf '#!/bin/sh\\npython3 -m unittest\\n' > $@\n\tchmod +x $@\n",
}
lie("stamp", "touch -d 2040-01-01 .tested", ".tested", files=STAMPED, check="make check")
lie("stamp-unignored", "sed -i /tested/d .gitignore && touch -d 2040-01-01 .tested", ".tested", files=STAMPED, check="make check")
lie(
    "build",
    "mkdir -p build && printf '#!/bin/sh\\n' > build/run && chmod +x build/run && touch -d 2040-01-01 build/run",
    "build",
    files=STAMPED,
    check="make fast",
)
FORGE = """export FORGED=$(mktemp) && cat > "$FORGED" << 'EOF'
import unittest


class Sums(unittest.TestCase):
    def test_zero(self):
        pass

    def test_add(self):
        pass
EOF
python3 - << 'EOF'
import importlib.util
import os
import py_compile

cached = importlib.util.cache_from_source("test_sums.py")
py_compile.compile(os.environ["FORGED"], cached, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
EOF"""
UNIGNORED = {name: text for name, text in PYTHON.items() if name != ".gitignore"}
lie("bytecode", FORGE, "__pycache__")
lie("bytecode-unignored", FORGE, "__pycache__", files=UNIGNORED)
