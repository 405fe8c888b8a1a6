"""Descriptors passed among the command's own processes."""

import os
import socket
import tempfile

first, second = socket.socketpair()
with tempfile.TemporaryFile() as file:
    file.write(b"inside")
    file.flush()
    socket.send_fds(first, [b"x"], [file.fileno()])
_, descriptors, _, _ = socket.recv_fds(second, 10, 1)
assert os.pread(descriptors[0], 10, 0) == b"inside"
