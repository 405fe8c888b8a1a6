"""The bug is mended, with a new test beside the old one, and that is verified."""

from green import MEND, honest

honest()
honest(
    MEND + " && printf 'import unittest\n\nfrom sums import add\n\n\nclass More(unittest.TestCase):\n"
    "    def test_negative(self):\n        self.assertEqual(add(-1, -1), -2)\n' > test_more.py",
    name="more",
)
