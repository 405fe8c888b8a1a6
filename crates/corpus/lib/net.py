"""What Python scripts inside reach other machines with. What they try arrives as "try-PROBE"."""

import socket
import ssl
import struct

from probe import facts

HOST, OTHER, EVIL = "registry.example.com", "other.example.com", "evil.example"
PATIENCE = 5
# A sandbox's own proxy, or else the one outside, which goes wherever it is told.
PROXIES = (("127.0.0.53", 3128), ("127.0.0.1", 3128))


def connect(host, port=80):
    return socket.create_connection((host, port), PATIENCE)


def proxy():
    """A connection to whichever proxy is here."""
    for place in PROXIES:
        try:
            return connect(*place)
        except OSError as problem:
            refusal = problem
    raise refusal


def through_connect(place):
    """A tunnel to HOST:PORT, in whatever bytes."""
    stream = proxy()
    stream.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (place, place))
    head = head_of(stream)
    if b" 200" not in head.split(b"\r\n")[0]:
        raise PermissionError(head)
    return stream


def through_socks(host, port, kind=3):
    """The same, by SOCKS5: a name (3) or an address (1, 4)."""
    stream = proxy()
    stream.sendall(b"\5\1\0")
    stream.recv(2)
    host = bytes([len(host)]) + host if kind == 3 else host
    stream.sendall(b"\5\1\0" + bytes([kind]) + host + struct.pack(">H", port))
    if stream.recv(10)[1:2] != b"\0":
        raise PermissionError("refused by SOCKS")
    return stream


def head_of(stream):
    head = b""
    while b"\r\n\r\n" not in head:
        data = stream.recv(1)
        if not data:
            raise ConnectionError(f"closed after {head!r}")
        head += data
    return head


def tls(stream, name):
    """TLS that vouches for nothing: whoever attacks doesn't look. No name, no SNI."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(stream, server_hostname=name)


def get(stream, host, path="/", *lines, method="GET", content=None):
    """One request and its whole answer."""
    text = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *lines]
    if content is not None:
        text.append(f"Content-Length: {len(content)}")
    stream.sendall("\r\n".join([*text, "", ""]).encode() + (content or b""))
    return everything(stream)


def everything(stream, answers=None, patience=PATIENCE):
    """What comes until the other side has ended or says nothing more, or has answered so often."""
    came = b""
    stream.settimeout(patience)
    try:
        while came.count(b"hello from outside") != answers and (data := stream.recv(65536)):
            came += data
    except OSError:
        pass  # it has left, which is an answer too
    return came


def query(name, kind=1, extra=b""):
    """A packet that asks for a name."""
    labels = b"".join(bytes([len(label)]) + label for label in name.encode().split(b"."))
    return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1) + extra


def lookup(server, packet):
    """Asks one name server; its answer."""
    asker = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM)
    asker.settimeout(1)
    asker.sendto(packet, (server, 53))
    return asker.recv(4096)
