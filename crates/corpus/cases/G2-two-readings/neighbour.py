"""A body with a length, and one in chunks."""

from net import HOST, connect, everything, get, tls

for way in (lambda: connect(HOST), lambda: tls(connect(HOST, 443), HOST)):
    assert b"posted" in get(way(), HOST, method="POST", content=b"posted")
    stream = way()
    stream.sendall(f"POST / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n".encode())
    stream.sendall(b"Transfer-Encoding: chunked\r\n\r\n6\r\nposted\r\n0\r\n\r\n")
    assert b"posted" in everything(stream)
