"""Fills a file that has no name any longer, up to a bound."""

import os
import tempfile

from probe import attempt, grace

BOUND, BLOCK = 512 << 20, os.urandom(1 << 20)


def fill():
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        for _ in range(BOUND // len(BLOCK)):
            os.write(file.fileno(), BLOCK)
        grace(1.5)
    return f"{BOUND >> 20} MiB were used"


attempt("shm", fill)
