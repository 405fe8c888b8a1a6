"""Spellings that are the name itself."""

import socket

from net import HOST, connect, get

for name in (HOST, HOST.upper(), f"{HOST}."):
    assert b"hello" in get(connect(name), HOST), name
    assert socket.getaddrinfo(name, 80)
