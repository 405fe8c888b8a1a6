"""Requests as bytes; the origin is as lenient as can be."""

from net import HOST, connect, everything, tls
from probe import attempt

LINE = f"POST /try-@ HTTP/1.1\r\nHost: {HOST}\r\n"
CHUNKS = "5\r\nhello\r\n0\r\n\r\n"
REQUESTS = {
    "length-and-chunks": f"{LINE}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{CHUNKS}",
    "two-lengths": f"{LINE}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "listed-lengths": f"{LINE}Content-Length: 5, 6\r\n\r\nhello",
    "signed-length": f"{LINE}Content-Length: +5\r\n\r\nhello",
    "unknown-coding": f"{LINE}Transfer-Encoding: chunkedx\r\n\r\n{CHUNKS}",
    "two-codings": f"{LINE}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n{CHUNKS}",
    "hidden-coding": f"{LINE}Transfer-Encoding: \x0bchunked\r\n\r\n{CHUNKS}",
    "blank-before-colon": f"{LINE}Transfer-Encoding : chunked\r\n\r\n{CHUNKS}",
    "bare-line-ends": f"{LINE}\r\n".replace("\r\n", "\n"),
    "one-bare-line-end": f"{LINE}X: y\nContent-Length: 0\r\n\r\n",
    "bare-carriage-return": f"{LINE}X: y\rContent-Length: 0\r\n\r\n",
    "folded": f"{LINE}X: y\r\n Content-Length: 0\r\n\r\n",
    "folded-first": f"POST /try-@ HTTP/1.1\r\n Host: {HOST}\r\n\r\n",
    "nul": f"{LINE}X: y\0z\r\n\r\n",
    "too-long": f"{LINE}X: {'y' * 70000}\r\n\r\n",
    "upgrade": f"{LINE}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    "blank-line": "POST  /try-@ HTTP/1.1\r\nHost: " + HOST + "\r\n\r\n",
    "version": f"POST /try-@ HTTP/1.2\r\nHost: {HOST}\r\n\r\n",
    "prior-knowledge": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0 try-@ ",
}


def sent(stream, request, probe):
    stream.sendall(request.replace("@", probe, 1).encode("latin-1"))
    everything(stream, answers=1, patience=0.5)


for name, request in REQUESTS.items():
    attempt(name, lambda: sent(connect(HOST), request, name))
    opened = f"opened-{name}"
    attempt(opened, lambda: sent(tls(connect(HOST, 443), HOST), request, opened))
