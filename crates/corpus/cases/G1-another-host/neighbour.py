"""Two requests, one after the other, for the host itself."""

from net import HOST, connect, everything, tls

for stream in (connect(HOST), tls(connect(HOST, 443), HOST)):
    stream.sendall(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
    stream.sendall(f"GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    assert everything(stream).count(b"hello from outside") == 2
