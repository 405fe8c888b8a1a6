"""Says that it runs, and waits for the kill."""

import time

from probe import trying

trying("record")
trying("next-command")
time.sleep(20)
