"""The allowed name has an address, over UDP and TCP, and it leads there."""

import socket

from net import HOST, connect, get

assert socket.getaddrinfo(HOST, 80)
assert b"hello" in get(connect(HOST), HOST)
