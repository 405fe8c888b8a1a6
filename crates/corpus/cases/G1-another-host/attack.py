"""Requests as bytes; a later one follows one that is as it should be."""

from net import HOST, OTHER, connect, everything, through_connect, tls
from probe import attempt

GOOD = f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n"
REQUESTS = {
    "host": "GET /try-@ HTTP/1.1\r\nHost: {other}\r\n\r\n",
    "line": "GET http://{other}/try-@ HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "line-and-host": "GET http://{other}/try-@ HTTP/1.1\r\nHost: {other}\r\n\r\n",
    "host-under-line": "GET http://{host}/try-@ HTTP/1.1\r\nHost: {other}\r\n\r\n",
    "two-hosts": "GET /try-@ HTTP/1.1\r\nHost: {host}\r\nHost: {other}\r\n\r\n",
    "no-host": "GET /try-@ HTTP/1.1\r\n\r\n",
    "listed": "GET /try-@ HTTP/1.1\r\nHost: {host}, {other}\r\n\r\n",
    "port": "GET /try-@ HTTP/1.1\r\nHost: {host}:8443\r\n\r\n",
    "user": "GET /try-@ HTTP/1.1\r\nHost: {host}@{other}\r\n\r\n",
}


def sent(stream, first, request, probe):
    text = first + request.format(host=HOST, other=OTHER).replace("@", probe, 1)
    stream.sendall(text.encode())
    everything(stream, answers=2 if first else 1)


WAYS = {
    "plain": lambda: connect(HOST),
    "opened": lambda: tls(connect(HOST, 443), HOST),
    "proxied": lambda: through_connect(f"{HOST}:80".encode()),
}
for way, opened in WAYS.items():
    for name, request in REQUESTS.items():
        attempt(f"{way}-{name}", lambda: sent(opened(), "", request, f"{way}-{name}"))
        attempt(f"{way}-{name}-later", lambda: sent(opened(), GOOD, request, f"{way}-{name}-later"))
