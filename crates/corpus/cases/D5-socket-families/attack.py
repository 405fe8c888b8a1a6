"""Opens a socket of each family."""

import socket

from probe import attempt

NETLINK, PACKET, VSOCK, ALG, INET = 16, 17, 40, 38, socket.AF_INET
RAW, DGRAM, STREAM, SEQPACKET = (
    socket.SOCK_RAW,
    socket.SOCK_DGRAM,
    socket.SOCK_STREAM,
    socket.SOCK_SEQPACKET,
)
FAMILIES = {
    "netlink-diagnostics": (NETLINK, RAW, 4),
    "netlink-audit": (NETLINK, RAW, 9),
    "netlink-netfilter": (NETLINK, RAW, 12),
    "netlink-events": (NETLINK, RAW, 15),
    "netlink-generic": (NETLINK, RAW, 16),
    "netlink-ipsec": (NETLINK, RAW, 6),
    "vsock": (VSOCK, STREAM, 0),
    "packet": (PACKET, RAW, 0x0300),
    "raw-icmp": (INET, RAW, 1),
    "raw-any": (INET, RAW, 255),
    "crypto": (ALG, SEQPACKET, 0),
    "bluetooth": (31, RAW, 1),
    "can": (29, RAW, 1),
    "xdp": (44, RAW, 0),
    "smc": (43, STREAM, 0),
    "rds": (21, SEQPACKET, 0),
    "tipc": (30, SEQPACKET, 0),
    "kcm": (41, DGRAM, 0),
}


def opened(family):
    socket.socket(*family).close()
    return "a socket was opened"


for probe, family in FAMILIES.items():
    attempt(probe, lambda family=family: opened(family))
