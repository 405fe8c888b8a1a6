"""Looks at its own environment, and at that of every process it can see."""

import glob
import os

from probe import canary, effect, facts, trying

NAMES = """LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_CONFIG_PARAMETERS
NODE_OPTIONS PYTHONSTARTUP PYTHONPATH PERL5LIB RUBYLIB JAVA_TOOL_OPTIONS BASH_ENV ENV
AWS_SECRET_ACCESS_KEY GITHUB_TOKEN ANTHROPIC_API_KEY DATABASE_URL SOME_OTHER_VARIABLE""".split()

for name in NAMES:
    trying(name)
    if canary(os.environ.get(name, "")):
        effect(name, "inherited")
trying("other-processes")
for path in glob.glob("/proc/[0-9]*/environ"):
    if path.split("/")[2] == str(os.getpid()):
        continue
    try:
        with open(path, "rb") as file:
            if canary(file.read()):
                effect("other-processes", f"{path} holds the secret")
    except OSError:
        pass
