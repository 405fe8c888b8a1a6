"""An HTTPS origin for the rows about the network gate: network.py CERTIFICATE KEY. It writes its
port. GET /N answers N MiB."""

import socket
import ssl
import sys
import threading

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(*sys.argv[1:3])
context.set_alpn_protocols(["http/1.1"])
BLOCK = bytes(1 << 20)


def serve(peer):
    try:
        stream = context.wrap_socket(peer, server_side=True)
        head = b""
        while b"\r\n\r\n" not in head:
            head += stream.recv(4096)
        blocks = int(head.split()[1][1:])
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (blocks << 20))
        for _ in range(blocks):
            stream.sendall(BLOCK)
        stream.close()
    except OSError as problem:
        print(problem, file=sys.stderr)


listener = socket.create_server(("127.0.0.1", 0), backlog=128)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
