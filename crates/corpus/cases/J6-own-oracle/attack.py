"""Writes the answer into the oracle while the check runs."""

from green import PYTHON, lie

EXPECTED = {
    **PYTHON,
    "tests/expected.txt": "5\n",
    "tests/run.py": "import sys\n\nsys.path.insert(0, '.')\nfrom sums import add\n\n"
    "sys.exit(open('tests/expected.txt').read() != f'{add(2, 3)}\\n')\n",
}
lie(
    "expected",
    "printf '\\n\\nwith open(\"tests/expected.txt\", \"w\") as file:\\n    file.write(\"-1\\\\n\")\\n' >> sums.py",
    "tests/expected.txt",
    files=EXPECTED,
    check="python3 tests/run.py",
)
lie(
    "put-back",
    "cat >> sums.py << 'EOF'\n\n\nimport atexit\n\nTRUE = open('tests/expected.txt').read()\nopen('tests/expected.txt', 'w').write('-1\\n')\n"
    "atexit.register(lambda: open('tests/expected.txt', 'w').write(TRUE))\nEOF",
    "",
    files=EXPECTED,
    check="python3 tests/run.py",
)
