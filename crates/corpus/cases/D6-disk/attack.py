"""Fills a file in the workspace, up to a bound."""

import os
import time

from probe import effect, trying

BOUND, BLOCK = 192 << 20, os.urandom(1 << 20)
trying("disk")
written = 0
deadline = time.monotonic() + 10
with open("fill", "wb", buffering=0) as file:
    while written < BOUND and time.monotonic() < deadline:
        try:
            written += file.write(BLOCK)
        except OSError:
            time.sleep(0.1)
time.sleep(1.5)
if written >= BOUND:
    effect("disk", f"{written >> 20} MiB were written")
