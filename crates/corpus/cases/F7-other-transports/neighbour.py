"""TCP to a name, and datagrams within."""

import socket

from net import HOST, connect, get

assert b"hello" in get(connect(HOST), HOST)
one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
one.bind(("127.0.0.1", 0))
other.sendto(b"x", one.getsockname())
assert one.recv(1) == b"x"
