"""The public host, and this sandbox's own localhost."""

import socket

from net import HOST, connect, get

assert b"hello" in get(connect(HOST), HOST)
own = socket.create_server(("127.0.0.1", 0))
connect("localhost", own.getsockname()[1]).close()
