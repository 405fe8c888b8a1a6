"""Sends to the host by every call that takes an address. What arrives names the probe."""

import socket

from probe import attempt, facts

UNIX = f"{facts['OUTSIDE']}/datagram"
UDP = ("127.0.0.1", int(facts["UDP_PORT"]))
TCP = ("127.0.0.1", int(facts["TCP_PORT"]))


def datagram(family):
    return socket.socket(family, socket.SOCK_DGRAM)


def fast_open():
    peer = socket.socket()
    peer.sendto(b"tcp-fastopen", socket.MSG_FASTOPEN, TCP)


def plain():
    peer = socket.socket()
    peer.settimeout(5)
    peer.connect(TCP)
    peer.sendall(b"tcp-connect")


def connected(family, address, name):
    peer = datagram(family)
    peer.connect(address)
    peer.send(name)


def without_result(action):
    def call():
        action()

    return call


attempts = {
    "unix-sendto": lambda: datagram(socket.AF_UNIX).sendto(b"unix-sendto", UNIX),
    "unix-sendmsg": lambda: datagram(socket.AF_UNIX).sendmsg([b"unix-sendmsg"], [], 0, UNIX),
    "unix-connected": lambda: connected(socket.AF_UNIX, UNIX, b"unix-connected"),
    "udp-sendto": lambda: datagram(socket.AF_INET).sendto(b"udp-sendto", UDP),
    "udp-sendmsg": lambda: datagram(socket.AF_INET).sendmsg([b"udp-sendmsg"], [], 0, UDP),
    "udp-connected": lambda: connected(socket.AF_INET, UDP, b"udp-connected"),
    "tcp-connect": plain,
    "tcp-fastopen": fast_open,
}
for probe, action in attempts.items():
    attempt(probe, without_result(action))
