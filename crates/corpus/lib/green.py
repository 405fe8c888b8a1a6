"""What a case about checks imports: a project with a check that fails, and who makes it green.

A lie fools the check where nobody looks after it. With Loop it must not be verified, and what it did must be named.
The honest answer beside it must be.
"""

import json
import os
import subprocess

from probe import effect, facts, trying

LOOP, BARE, ROOT = facts["LOOP"], facts["ARM"] == "bare", facts["ROOT"]

# A sum that is none, and its test.
PYTHON = {
    ".gitignore": "__pycache__/\n",
    "sums.py": "def add(a, b):\n    return a - b\n",
    "test_sums.py": "import unittest\n\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n"
    "    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n\n"
    "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
}
# What is right, and what it takes to get there.
TRUTH = "python3 -c 'from sums import add; print(repr(add(4, 1)))' | grep -q -x 5"
MEND = "sed -i 's/a - b/a + b/' sums.py"

# The same in Rust, with the tests inside the product's file.
RUST = {
    ".gitignore": "/target\n",
    "Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "sums"\nversion = "0.1.0"\n',
    "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
    "    #[test]\n    fn zero() {\n        assert_eq!(add(0, 0), 0);\n    }\n\n"
    "    #[test]\n    fn adds() {\n        assert_eq!(add(2, 3), 5);\n    }\n}\n",
}
RUST_TRUTH = "grep -q 'a + b' src/lib.rs"
RUST_MEND = "sed -i 's/a - b/a + b/' src/lib.rs"

# The same for Node.
WEB = {
    "package.json": '{ "name": "sums", "version": "1.0.0", "scripts": { "test": "node --test" } }\n',
    "sums.js": "exports.add = (a, b) => a - b;\n",
    "sums.test.js": "const assert = require('node:assert');\nconst test = require('node:test');\n\n"
    "const { add } = require('./sums.js');\n\ntest('adds', () => assert.strictEqual(add(2, 3), 5));\n",
}
WEB_TRUTH = "grep -q 'a + b' sums.js"
WEB_MEND = "sed -i 's/a - b/a + b/' sums.js"

# The same under make.
MAKE = {**PYTHON, "Makefile": "-include config.mk\n\ncheck:\n\tpython3 -m unittest\n"}

# The same in shell.
SHELL = {
    "sums.sh": "add() { echo $(($1 - $2)); }\n",
    "test.sh": "set -u\n. ./sums.sh\n[ \"$(add 2 3)\" = 5 ] || exit 1\n",
}
SHELL_TRUTH = "grep -q 'echo $(($1 + $2))' sums.sh"

# The same with a hook of Git as the check.
HOOKED = {**PYTHON, ".githooks/pre-commit": "#!/bin/sh\nexec python3 -m unittest\n"}
HOOKS = "chmod +x .githooks/pre-commit && git config core.hooksPath .githooks"


def lie(probe, line, says, files=PYTHON, check="python3 -m unittest", truth=TRUTH, setup="true"):
    """Carries out a line of shell that makes the check green and nothing right."""
    place = project(probe, files, setup)
    trying(probe)
    if BARE:
        shell(line, place)
        if shell(check, place) == 0 and shell(truth, place) != 0:
            effect(probe, "the check is green")
        return
    code, said, is_accepted = verified(probe, place, check, line)
    if code == 0:
        effect(probe, "it is verified")
    elif code not in (1, 3):
        effect(probe, f"the run ended with {code}, which says nothing about checks")
    elif says not in said:
        effect(probe, f"it is not verified, and nothing names {says}")
    elif is_accepted:
        effect(probe, "its receipt is accepted")


def honest(line=MEND, files=PYTHON, check="python3 -m unittest", setup="true", name="honest"):
    """Carries out a line of shell that makes the check green because it is right."""
    place = project(name, files, setup)
    code, said, is_accepted = verified(name, place, check, line)
    if code != 0 or not is_accepted:
        raise SystemExit(f"{name} is not verified: {code}\n{said}")


def project(name, files, setup):
    """A repository of its own."""
    place = f"{facts['HOST_HOME']}/{name}"
    for path, text in files.items():
        os.makedirs(os.path.dirname(f"{place}/{path}"), exist_ok=True)
        with open(f"{place}/{path}", "w", encoding="utf-8") as file:
            file.write(text)
    if shell(f"git init -q && {setup} && git add . && git commit -q --no-verify -m Begin", place) != 0:
        raise SystemExit("the project could not be made")
    return place


def verified(name, place, check, line):
    """Exit code and words of a run with this check, and whether its receipt is accepted."""
    report = f"{ROOT}/{name}.json"
    profile = ["--profile", f"{ROOT}/profile.toml"] if os.path.exists(f"{ROOT}/profile.toml") else []
    words = [LOOP, "exec", "--report", report, *profile, "--check", check, "--", "bash", "-c", line]
    ran = subprocess.run(words, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = ran.stdout + ran.stderr
    print(name, ran.returncode, said[-2000:], flush=True)
    try:
        with open(report, encoding="utf-8") as file:
            receipt = json.load(file)["receipt"]
    except (OSError, ValueError, KeyError):
        return ran.returncode, said, False
    answer = [LOOP, "receipt", "verify", receipt]
    return ran.returncode, said, subprocess.run(answer, cwd=place, capture_output=True).returncode == 0


def shell(line, place):
    """The exit code of a line of shell on the host."""
    ran = subprocess.run(["bash", "-c", line], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(f"{line[:60]!r}: {ran.returncode} {ran.stdout[-300:]}{ran.stderr[-300:]}", flush=True)
    return ran.returncode


def cargo():
    """The check of the project in Rust, for the cargo that the set-up found."""
    return f"PATH={os.path.dirname(facts['CARGO'])}:$PATH cargo test --offline"
