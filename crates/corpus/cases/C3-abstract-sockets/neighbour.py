"""Abstract sockets of the command's own work."""

import socket

name = "\0loop-neighbour"
listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind(name)
listener.listen(1)
peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
peer.connect(name)
peer.sendall(b"hello")
assert listener.accept()[0].recv(10) == b"hello"
