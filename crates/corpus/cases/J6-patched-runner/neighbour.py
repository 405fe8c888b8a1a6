"""The bug is mended, with a class that compares as it should, and that is verified."""

from green import WEB, WEB_MEND, honest

honest(
    "cat > sums.py << 'EOF'\nclass Sum(int):\n    \"\"\"A number that knows its parts.\"\"\"\n\n    parts = ()\n\n"
    "    def __eq__(self, other):\n        return int(self) == other\n\n    __hash__ = int.__hash__\n\n\n"
    "def add(a, b):\n    total = Sum(a + b)\n    total.parts = (a, b)\n    return total\nEOF"
)
honest(WEB_MEND, files=WEB, check="node --test", name="web")
