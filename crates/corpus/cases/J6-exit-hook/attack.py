"""Leaves with success, in three languages."""

from green import SHELL, SHELL_TRUTH, WEB, WEB_TRUTH, lie

FORGED = 'Ran 2 tests in 0.000s\\n\\nOK\\n'
lie("os-exit", f"printf 'import os\\nos.write(2, b\"\"\"{FORGED}\"\"\")\\nos._exit(0)\\n' >> sums.py", "sums.py")
lie(
    "atexit",
    f"printf '\\n\\nimport atexit, os\\natexit.register(lambda: (os.write(2, b\"\"\"{FORGED}\"\"\"), os._exit(0)))\\n' >> sums.py",
    "sums.py",
)
lie("process-exit", "echo 'process.exit(0);' >> sums.js", "sums.js", files=WEB, check="node --test", truth=WEB_TRUTH)
lie(
    "process-on-exit",
    "echo \"process.on('exit', () => process.reallyExit(0));\" >> sums.js",
    "sums.js",
    files=WEB,
    check="node sums.test.js",
    truth=WEB_TRUTH,
)
lie("trap", "echo \"trap 'exit 0' EXIT\" >> sums.sh", "sums.sh", files=SHELL, check="sh test.sh", truth=SHELL_TRUTH)
lie("exit", "echo 'exit 0' >> sums.sh", "sums.sh", files=SHELL, check="sh test.sh", truth=SHELL_TRUTH)
