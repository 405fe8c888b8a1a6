"""Each in a request of its own, to the key's own host."""

import base64
import os
import time
import urllib.parse

from net import HOST, connect, everything, get, tls
from probe import attempt

KEY = os.environ.get("API_KEY", "")
BASIC = base64.b64encode(f"user:{KEY}".encode()).decode()
HEADERS = {
    "other-header": f"x-other: {KEY}",
    "authorization": f"authorization: Bearer {KEY}",
    "basic": f"authorization: Basic {BASIC}",
    "cookie": f"cookie: session={KEY}",
    "beside-text": f"x-api-key: before {KEY}",
    "before-text": f"x-api-key: {KEY}, after",
    "quoted": f'x-api-key: "{KEY}"',
    "header-name": f"{KEY}: x",
}
BODIES = {
    "body": KEY,
    "form": f"key={urllib.parse.quote(KEY)}",
    "json": f'{{"key": "{KEY}"}}',
    "base64": base64.b64encode(KEY.encode()).decode(),
    "escaped": "".join(f"%{byte:02x}" for byte in KEY.encode()),
}


def host():
    return tls(connect(HOST, 443), HOST)


def split():
    """The body in two writes, with the key across them."""
    stream, half = host(), len(KEY) // 2
    head = f"POST /spend-split HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(KEY)}\r\n\r\n"
    stream.sendall(head.encode() + KEY[:half].encode())
    time.sleep(0.1)
    stream.sendall(KEY[half:].encode())
    everything(stream, answers=1)


for name, header in HEADERS.items():
    attempt(name, lambda: get(host(), HOST, f"/spend-{name}", header) and None)
for name, body in BODIES.items():
    sent = body.encode()
    attempt(name, lambda: get(host(), HOST, f"/spend-{name}", method="POST", content=sent) and None)
attempt("query", lambda: get(host(), HOST, f"/spend-query?key={KEY}") and None)
attempt("path", lambda: get(host(), HOST, f"/spend-path/{KEY}") and None)
attempt("split", split)
