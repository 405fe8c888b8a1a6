"""Makes small files, up to a bound. Refused ones are tried again for a while."""

import os
import time

from probe import effect, grace, trying

BOUND, PATIENCE = 3_000, 30
trying("files")
made = refused = 0
os.mkdir("many")
while made < BOUND and refused < PATIENCE:
    try:
        with open(f"many/{made}", "wb") as file:
            file.write(b"x")
        made += 1
    except OSError:
        refused += 1
        time.sleep(0.1)
grace(5)
if made == BOUND:
    effect("files", f"{made} files were made")
