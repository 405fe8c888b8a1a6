"""A program with a name runs through a descriptor, too, and memory files hold data."""

import os

held = os.open("/bin/sh", os.O_RDONLY)
child = os.fork()
if child == 0:
    os.execve(held, ["sh", "-c", "exit 3"], {})
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
data = os.memfd_create("data")
assert os.write(data, b"x" * 100_000) == 100_000
