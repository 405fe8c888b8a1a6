"""Every address that the name has."""

import socket

from net import connect, get
from probe import attempt


def each(probe):
    name = f"{probe}.example.com"
    for *_, place in socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM):
        get(connect(*place[:2]), name, f"/try-{probe}")


for name in ("public-first", "private-first", "across-families"):
    attempt(name, lambda: each(name))
