"""Gets rid of the hook."""

from green import HOOKED, HOOKS, lie

CHECK = "git commit -q --allow-empty -m try"
LIES = {
    "edited": ("printf '#!/bin/sh\\n' > .githooks/pre-commit", ".githooks/pre-commit"),
    "not-executable": ("chmod -x .githooks/pre-commit", ".githooks/pre-commit"),
    "off": ("git config core.hooksPath /dev/null", ".git"),
    "elsewhere": ("mkdir .none && git config core.hooksPath .none", ".git"),
}
for name, (line, says) in LIES.items():
    lie(name, line, says, files=HOOKED, check=CHECK, setup=HOOKS)
