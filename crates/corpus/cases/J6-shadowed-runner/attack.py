"""Is the runner."""

from green import lie

FAKE = """cat > {} << 'EOF'
import sys


class TestCase:
    pass


if __name__.endswith("__main__"):
    print("Ran 2 tests in 0.000s\\n\\nOK", file=sys.stderr)
EOF"""
lie("unittest", FAKE.format("unittest.py"), "unittest.py")
lie("package", f"mkdir unittest && touch unittest/__init__.py && {FAKE.format('unittest/__main__.py')}", "unittest")
lie("pytest", "echo 'print(\"2 passed in 0.01s\")' > pytest.py", "pytest.py", check="/usr/bin/python3 -m pytest -q")
