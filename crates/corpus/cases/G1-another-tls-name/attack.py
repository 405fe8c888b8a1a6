"""A host whose tunnels stay closed, and one whose requests are looked at."""

import socket
import ssl

from net import OTHER, connect, everything, get, through_connect, tls
from probe import attempt

HOSTS = {"closed": "registry.example.com", "opened": "seen.example.com"}


def sent(stream, name, probe):
    get(tls(stream, name), OTHER, f"/try-{probe}")


def encrypted(host, probe):
    """A hello with the extension for encrypted ones (ECH), in which the probe stands for its name."""
    came, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    try:
        context.wrap_bio(came, going, server_hostname=OTHER).do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = going.read()
    own = f" try-{probe} ".encode()
    extension = b"\xfe\x0d" + len(own).to_bytes(2, "big") + own
    at = 5 + 4 + 34
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at : at + 2], "big")
    at += 1 + hello[at]
    extensions = extension + hello[at + 2 :]
    inner = hello[9:at] + len(extensions).to_bytes(2, "big") + extensions
    message = b"\x01" + len(inner).to_bytes(3, "big") + inner
    stream = connect(host, 443)
    stream.sendall(b"\x16\3\1" + len(message).to_bytes(2, "big") + message)
    stream.shutdown(socket.SHUT_WR)
    everything(stream)


for kind, host in HOSTS.items():
    place = f"{host}:443".encode()
    for name, asked in {"other": OTHER, "none": None, "below": f"x.{host}"}.items():
        probe = f"{kind}-{name}"
        attempt(probe, lambda: sent(connect(host, 443), asked, probe))
        probe = f"{kind}-{name}-by-proxy"
        attempt(probe, lambda: sent(through_connect(place), asked, probe))
    attempt(f"{kind}-encrypted", lambda: encrypted(host, f"{kind}-encrypted"))
