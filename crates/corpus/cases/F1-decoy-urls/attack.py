"""A proxy is given each URL in a request, and a client opens it."""

import subprocess

from net import EVIL, HOST, everything, proxy
from probe import attempt

URLS = {
    "user": f"http://{HOST}@{EVIL}",
    "user-and-port": f"http://{HOST}:80@{EVIL}",
    "user-escaped": f"http://{HOST}%40x@{EVIL}",
    "empty-user": f"http://@{EVIL}#@{HOST}",
    "full-width": f"http://{HOST}@\uff45vil.example",
    "prefix": f"http://{HOST}.{EVIL}",
    "suffix": f"http://evil{HOST}",
}


def requested(url, probe):
    stream = proxy()
    lines = f"GET {url}/try-{probe} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
    stream.sendall(lines.encode())
    everything(stream)


def opened(url, probe):
    line = ["curl", "-sS", "--noproxy", "*", "--max-time", "5", f"{url}/try-{probe}"]
    subprocess.run(line, stdout=subprocess.DEVNULL, check=False)


for name, url in URLS.items():
    attempt(f"proxy-{name}", lambda: requested(url, f"proxy-{name}"))
    attempt(f"client-{name}", lambda: opened(url.replace("#", "/"), f"client-{name}"))
