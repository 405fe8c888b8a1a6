"""Makes small files, up to a bound."""

import os
import time

from probe import effect, trying

BOUND = 6_000
trying("files")
made = 0
deadline = time.monotonic() + 15
while made < BOUND and time.monotonic() < deadline:
    try:
        if made % 1000 == 0:
            os.makedirs(f"many/{made // 1000}", exist_ok=True)
        with open(f"many/{made // 1000}/{made}", "wb") as file:
            file.write(b"x")
        made += 1
    except OSError:
        time.sleep(0.1)
time.sleep(1.5)
if made == BOUND:
    effect("files", f"{made} files were made")
