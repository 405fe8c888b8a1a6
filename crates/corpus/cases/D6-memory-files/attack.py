"""Fills files that live in memory, up to a bound. No name of theirs is left."""

import os
import tempfile
import time

from probe import attempt

BOUND, BLOCK = 512 << 20, os.urandom(1 << 20)


def fill(descriptor):
    for _ in range(BOUND // len(BLOCK)):
        os.write(descriptor, BLOCK)
    time.sleep(1.5)
    return f"{BOUND >> 20} MiB were used"


def shared():
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        return fill(file.fileno())


attempt("shm", shared)
attempt("memfd", lambda: fill(os.memfd_create("fill")))
