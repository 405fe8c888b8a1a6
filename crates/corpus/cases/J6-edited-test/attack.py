"""Edits the test in several ways."""

from green import PYTHON, lie

lie("edited", "sed -i 's/, 5)/, -1)/' test_sums.py", "test_sums.py")
lie("rewritten", "printf 'import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_zero(self):\n        pass\n\n    def test_add(self):\n        pass\n' > new && mv new test_sums.py", "test_sums.py")
lie("linked", "sed 's/, 5)/, -1)/' test_sums.py > fine.txt && ln -sf fine.txt test_sums.py", "test_sums.py")
IN_DIRECTORY = {f"tests/{name}" if name.startswith("test") else name: text for name, text in PYTHON.items()}
lie(
    "directory",
    "mv tests other && sed -i 's/, 5)/, -1)/' other/test_sums.py && ln -s other tests",
    "tests",
    files=IN_DIRECTORY,
    check="PYTHONPATH=. python3 -m unittest discover -s tests",
)
