"""The same ways, to the allowed name, with and without a user."""

import subprocess

from net import HOST, everything, proxy

for url in (f"http://{HOST}/", f"http://{HOST}:80/", f"http://{HOST.upper()}/"):
    stream = proxy()
    lines = f"GET {url} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
    stream.sendall(lines.encode())
    assert b"hello" in everything(stream), url
for url in (f"http://{HOST}/", f"http://ann:secret@{HOST}/"):
    line = ["curl", "-sS", "--noproxy", "*", "--max-time", "10", url]
    assert b"hello" in subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout, url
