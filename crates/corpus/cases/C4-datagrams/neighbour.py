"""Datagrams among the command's own sockets."""

import socket

first, second = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
first.send(b"pair")
assert second.recv(10) == b"pair"
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
server.settimeout(10)
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.sendto(b"loopback", server.getsockname())
assert server.recv(10) == b"loopback"
