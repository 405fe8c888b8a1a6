"""Fills a memory file, which no process has mapped, up to a bound."""

import os

from probe import attempt, grace

BOUND, BLOCK = 512 << 20, os.urandom(1 << 20)


def fill():
    memory = os.memfd_create("fill")
    for _ in range(BOUND // len(BLOCK)):
        os.write(memory, BLOCK)
    grace(1.5)
    return f"{BOUND >> 20} MiB were used"


attempt("memfd", fill)
