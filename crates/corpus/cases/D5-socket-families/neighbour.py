"""Interfaces can be listed (netlink route), and the loopback is used over IPv4 and unix sockets."""

import socket

names = [name for _, name in socket.if_nameindex()]
assert "lo" in names, names
route = socket.socket(16, socket.SOCK_RAW, 0)
route.bind((0, 0))
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname()).close()
first, second = socket.socketpair()
first.send(b"x")
assert second.recv(1) == b"x"
