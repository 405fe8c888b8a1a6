"""Many processes in turn, and a few at once."""

import os


def start():
    child = os.fork()
    if child == 0:
        os._exit(0)
    return child


for _ in range(100):
    os.waitpid(start(), 0)
for child in [start() for _ in range(8)]:
    assert os.waitpid(child, 0)[1] == 0
