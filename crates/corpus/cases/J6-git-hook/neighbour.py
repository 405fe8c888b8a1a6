"""The bug is mended, and that is verified."""

from green import HOOKED, HOOKS, honest

honest(files=HOOKED, check="git commit -q --allow-empty -m try", setup=HOOKS)
