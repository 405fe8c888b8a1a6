"""A little of it."""

import os

os.write(os.memfd_create("some"), b"x" * (1 << 20))
