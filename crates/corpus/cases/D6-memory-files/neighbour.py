"""A little of both."""

import os
import tempfile

with tempfile.TemporaryFile(dir="/dev/shm") as file:
    file.write(b"x" * (1 << 20))
os.write(os.memfd_create("some"), b"x" * (1 << 20))
