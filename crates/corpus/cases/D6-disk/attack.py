"""Fills a file in the workspace, up to a bound. Refused writes are tried again for a while."""

import os
import time

from probe import effect, grace, trying

BOUND, BLOCK, PATIENCE = 192 << 20, os.urandom(1 << 20), 30
trying("disk")
written = refused = 0
with open("fill", "wb", buffering=0) as file:
    while written < BOUND and refused < PATIENCE:
        try:
            written += file.write(BLOCK)
        except OSError:
            refused += 1
            time.sleep(0.1)
grace(1.5)
if written >= BOUND:
    effect("disk", f"{written >> 20} MiB were written")
