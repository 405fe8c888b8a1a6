"""Clients that do not look: by name, by proxy, and with a key."""

import os
import subprocess

from net import connect, get, through_connect, tls
from probe import attempt

KEY = f"x-api-key: {os.environ.get('API_KEY', '')}"


def curl(host, probe):
    line = ["curl", "-sSk", "--max-time", "10", f"https://{host}/try-{probe}"]
    subprocess.run(line, stdout=subprocess.DEVNULL, check=False)


for kind in ("expired", "wrong", "self-signed", "unknown"):
    host = f"{kind}.example.com"
    place = f"{host}:443".encode()
    attempt(kind, lambda: get(tls(connect(host, 443), host), host, f"/try-{kind}", KEY) and None)
    probe = f"{kind}-by-proxy"
    attempt(probe, lambda: get(tls(through_connect(place), host), host, f"/try-{probe}") and None)
    attempt(f"{kind}-by-curl", lambda: curl(host, f"{kind}-by-curl"))
