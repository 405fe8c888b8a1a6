"""A connection that has used the key stays open and idle; when its time is over, it is used again."""

import os
import select
import time

from net import HOST, connect, everything, get, tls
from probe import attempt

KEY = f"x-api-key: {os.environ.get('API_KEY', '')}"


def request(path):
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{KEY}\r\n\r\n".encode()


idle = tls(connect(HOST, 443), HOST)
idle.sendall(request("/"))
assert b"the key arrived" in everything(idle, answers=1) + idle.recv(0), "it is no use at all"
print("ready", flush=True)
time.sleep(4.5)


def still_open():
    ready, _, _ = select.select([idle], [], [], 0)
    return None if ready else "it is not closed"


def again():
    idle.sendall(request("/spend-again"))
    everything(idle, answers=1)


attempt("open", still_open)
attempt("again", again)
attempt("anew", lambda: get(tls(connect(HOST, 443), HOST), HOST, "/spend-anew", KEY) and None)
