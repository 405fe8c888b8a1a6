"""A little of it."""

import tempfile

with tempfile.TemporaryFile(dir="/dev/shm") as file:
    file.write(b"x" * (1 << 20))
