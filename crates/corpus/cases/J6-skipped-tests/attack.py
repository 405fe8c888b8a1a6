"""Skips, in each runner's way."""

from green import PYTHON, WEB, WEB_TRUTH, lie

lie("unittest", "sed -i 's/    def test_add/    @unittest.skip(\"later\")\\n    def test_add/' test_sums.py", "test_sums.py")
lie("expected", "sed -i 's/    def test_add/    @unittest.expectedFailure\\n    def test_add/' test_sums.py", "test_sums.py")
lie("product", "printf 'import unittest\\n\\n\\ndef add(a, b):\\n    if b == 3:\\n        raise unittest.SkipTest(\"later\")\\n    return a - b\\n' > sums.py", "")
lie("settings", "printf '[pytest]\\naddopts = --deselect test_sums.py::Sums::test_add\\n' > pytest.ini", "pytest.ini", check="pytest-3 -q")
SETTINGS = {**PYTHON, "setup.cfg": "[metadata]\nname = sums\n"}
lie("setup-cfg", "printf '\\n[tool:pytest]\\naddopts = -k zero\\n' >> setup.cfg", "setup.cfg", files=SETTINGS, check="pytest-3 -q")
lie("node", "sed -i \"s/test('adds'/test.skip('adds'/\" sums.test.js", "sums.test.js", files=WEB, check="node --test", truth=WEB_TRUTH)
