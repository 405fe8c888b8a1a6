"""An idle connection for longer than that, and then the key is used again."""

import os
import time

from net import HOST, connect, everything, tls

lines = f"GET / HTTP/1.1\r\nHost: {HOST}\r\nx-api-key: {os.environ['API_KEY']}\r\n\r\n".encode()
idle = tls(connect(HOST, 443), HOST)
for _ in range(2):
    idle.sendall(lines)
    assert b"hello" in everything(idle, answers=1)
    time.sleep(1.5)
