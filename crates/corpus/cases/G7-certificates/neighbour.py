"""One that can, and a client that verifies."""

import ssl

from net import HOST, connect, get

stream = ssl.create_default_context().wrap_socket(connect(HOST, 443), server_hostname=HOST)
assert b"hello" in get(stream, HOST)
