"""Forks on and on, up to a bound; refused forks are tried again for a while. Reaching the bound, and
being left alone there, is the effect."""

import os
import time

from probe import effect, grace, trying

BOUND, PATIENCE = 400, 60
trying("processes")
started = refused = 0
while started < BOUND and refused < PATIENCE:
    try:
        child = os.fork()
    except OSError:
        refused += 1
        time.sleep(0.05)
        continue
    if child == 0:
        time.sleep(20)
        os._exit(0)
    started += 1
grace(1.5)
if started == BOUND:
    effect("processes", f"{started} processes at once")
else:
    print(f"{started} processes", flush=True)
