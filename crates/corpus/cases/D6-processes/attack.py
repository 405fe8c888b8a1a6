"""Forks on and on, up to a bound. Reaching it, and being left alone there, is the effect."""

import os
import time

from probe import effect, trying

BOUND = 400
trying("processes")
deadline = time.monotonic() + 6
started = 0
while started < BOUND and time.monotonic() < deadline:
    try:
        child = os.fork()
    except OSError:
        time.sleep(0.05)
        continue
    if child == 0:
        time.sleep(12)
        os._exit(0)
    started += 1
time.sleep(1.5)
if started == BOUND:
    effect("processes", f"{started} processes at once")
else:
    print(f"{started} processes", flush=True)
