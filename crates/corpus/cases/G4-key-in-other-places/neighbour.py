"""In its header it is the key, also split over writes; a body that mentions it arrives as it is."""

import os
import time

from net import HOST, connect, everything, get, tls

key = os.environ["API_KEY"]
stream = tls(connect(HOST, 443), HOST)
head = f"GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\nX-Api-Key: {key}\r\n\r\n"
for part in (head[:-20], head[-20:]):
    stream.sendall(part.encode())
    time.sleep(0.1)
assert b"the key arrived" in everything(stream)
text = f"the variable holds {key}, which is no secret".encode()
assert text in get(tls(connect(HOST, 443), HOST), HOST, method="POST", content=text)
