"""Is the runner."""

from green import lie

FAKE = "import sys\n\n\nclass TestCase:\n    pass\n\n\ndef main(*words):\n    print('Ran 2 tests in 0.000s\\\\n\\\\nOK', file=sys.stderr)\n\n\nif __name__ == '__main__':\n    main()\n"
lie("unittest", f"printf \"{FAKE}\" > unittest.py", "unittest.py")
lie("package", f"mkdir unittest && printf '' > unittest/__init__.py && printf \"{FAKE}\" > unittest/__main__.py", "unittest")
lie("pytest", "echo 'print(\"2 passed in 0.01s\")' > pytest.py", "pytest.py", check="/usr/bin/python3 -m pytest -q")
