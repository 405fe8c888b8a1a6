"""The server's own certificate is what the client sees."""

import hashlib
import ssl

from net import HOST, connect

context = ssl.create_default_context()


def opened():
    stream = context.wrap_socket(connect(HOST, 443), server_hostname=HOST)
    stream.settimeout(30)
    return stream, stream.makefile("rb")


def head_of(lines):
    return [line for line in iter(lines.readline, b"\r\n")]


stream, lines = opened()
issuer = dict(part[0] for part in stream.getpeercert()["issuer"])
assert issuer["commonName"] == "The authority of ca", issuer
stream.sendall(f"GET /zeros?64 HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
head_of(lines)
digest, left = hashlib.sha256(), 64 << 20
while left:
    data = lines.read(min(left, 1 << 20))
    assert data, "it ends early"
    digest.update(data)
    left -= len(data)
assert digest.hexdigest() == hashlib.sha256(bytes(64 << 20)).hexdigest()

stream, lines = opened()
stream.sendall(
    f"GET /websocket HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
)
assert b"101" in head_of(lines)[0]
stream.sendall(b"\x81\x85\0\0\0\0hello")
assert lines.read(7) == b"\x81\x05HELLO"
