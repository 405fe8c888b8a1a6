"""A test that was skipped before stays so, the bug is mended, and that is verified."""

from green import PYTHON, honest

SKIPPED = "\n    @unittest.skip('not here')\n    def test_big(self):\n        self.fail()\n"
honest(files={**PYTHON, "test_sums.py": PYTHON["test_sums.py"] + SKIPPED})
honest(files=PYTHON, check="pytest-3 -q", name="pytest")
