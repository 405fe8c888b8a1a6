"""Any client, on the way that needs no set-up, and by proxy."""

from net import connect, get, through_connect
from probe import attempt

NAMES = [f"{name}.there.example.com" for name in """
loopback nothing six mapped translated tunnelled private private-b private-c carrier link-local
metadata azure unique-local documentation benchmark future
""".split()]


def sent(stream, host, probe):
    get(stream, host, f"/try-{probe}")


for name in NAMES:
    probe = name.split(".")[0]
    attempt(probe, lambda: sent(connect(name), name, probe))
    place = f"{name}:80".encode()
    attempt(f"proxy-{probe}", lambda: sent(through_connect(place), name, f"proxy-{probe}"))
