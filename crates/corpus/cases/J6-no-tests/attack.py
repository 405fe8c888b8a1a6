"""Leaves nothing to find."""

from green import PYTHON, lie

lie("moved", "git mv test_sums.py sums_test.txt", "test_sums.py")
lie(
    "pattern",
    "printf '[pytest]\npython_functions = nothing_*\npython_classes = Nothing\naddopts = --suppress-no-test-exit-code\n' > pytest.ini; "
    "printf 'import pytest\n\n\ndef pytest_addoption(parser):\n    parser.addoption(\"--suppress-no-test-exit-code\", action=\"store_true\")\n\n\n"
    "def pytest_collection_modifyitems(items):\n    items.clear()\n\n\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n' > conftest.py",
    "conftest.py",
    check="pytest-3 -q",
)
lie("argument", "true", "no test", files={**PYTHON, "none/.keep": ""}, check="python3 -m unittest discover -s none")
