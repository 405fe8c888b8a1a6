"""A server and a client of the command's own, by path, in /tmp and in the workspace."""

import os
import socket
import tempfile

for directory in (None, "."):
    with tempfile.TemporaryDirectory(dir=directory) as place:
        path = os.path.join(place, "s")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(1)
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.connect(path)
        peer.sendall(b"hello")
        assert listener.accept()[0].recv(10) == b"hello"
