"""Everything that needs no name and no connection."""

import socket
import struct

from net import HOST, connect, get
from probe import attempt

V4, V6 = "1.1.1.1", "2606:4700:4700::1111"


def datagram(host, port, data, family=socket.AF_INET):
    peer = socket.socket(family, socket.SOCK_DGRAM)
    peer.sendto(data, (host, port))


def ping(host, family, protocol, kind):
    """An answer is the effect: the kernel gives it, for any address outside."""
    peer = socket.socket(family, kind, protocol)
    peer.settimeout(2)
    first = 128 if family == socket.AF_INET6 else 8
    peer.sendto(struct.pack(">BBHHH", first, 0, 0 if first == 128 else 0xF7FE, 0, 1), (host, 0))
    return f"{host} answered {len(peer.recv(64))} bytes"


def quic(host, probe):
    """A long header of version 1, padded as an initial packet is."""
    head = b"\xc3\0\0\0\1\x08" + probe.encode()
    datagram(host, 443, head + bytes(1200 - len(head)))


attempt("literal", lambda: get(connect(V4), HOST, "/try-literal") and None)
attempt("literal-six", lambda: get(connect(V6), HOST, "/try-literal-six") and None)
attempt("udp", lambda: datagram(V4, 9, b"try-udp"))
attempt("udp-six", lambda: datagram(V6, 9, b"try-udp-six", socket.AF_INET6))
attempt("clock", lambda: datagram(V4, 123, b"try-clock"))
attempt("quic", lambda: quic(V4, "try-quic"))
attempt("quic-by-name", lambda: quic(socket.gethostbyname(HOST), "try-quic-by-name"))
attempt("ping", lambda: ping(V4, socket.AF_INET, socket.IPPROTO_ICMP, socket.SOCK_DGRAM))
attempt("ping-six", lambda: ping(V6, socket.AF_INET6, socket.IPPROTO_ICMPV6, socket.SOCK_DGRAM))
attempt("ping-raw", lambda: ping(V4, socket.AF_INET, socket.IPPROTO_ICMP, socket.SOCK_RAW))
