"""By its name, and its own services on loopback."""

import socket

from net import HOST, connect, get, through_connect

place = f"{HOST}:8080"
assert b"hello" in get(connect(HOST, 8080), place)
assert b"hello" in get(through_connect(place.encode()), place)
own = socket.create_server(("127.0.0.1", 0))
for spelling in ("127.0.0.1", "127.1", "localhost"):
    connect(spelling, own.getsockname()[1]).close()
