"""Reaches for the host's abstract sockets by name."""

import socket

from probe import attempt, facts


def stream():
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(5)
    peer.connect(f"\0loop-attack-{facts['NONCE']}-stream")
    return f"connected and read {peer.recv(100)!r}"


def datagram():
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    peer.sendto(b"abstract:datagram", f"\0loop-attack-{facts['NONCE']}-datagram")
    return "sent"


attempt("abstract:stream", stream)
attempt("abstract:datagram", datagram)
