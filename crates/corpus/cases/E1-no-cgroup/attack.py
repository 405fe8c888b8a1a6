"""Fills memory, in two processes at once so that no limit of a single one counts, up to a bound."""

import os

from probe import effect, grace, trying

STEP, BOUND = 16 << 20, 512 << 20


def fill(amount):
    held = []
    while amount > 0:
        held.append(bytearray(os.urandom(4096)) * (STEP // 4096))
        amount -= STEP
    return held


trying("memory")
other = os.fork()
held = fill(BOUND // 2)
grace(1.5)
if other == 0:
    os._exit(0)
if os.waitpid(other, 0)[1] == 0:
    effect("memory", f"{BOUND >> 20} MiB were used")
