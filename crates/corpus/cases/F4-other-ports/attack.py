"""What is sent says through which door it came."""

from net import HOST, connect, get, through_connect, through_socks
from probe import attempt


def sent(stream, probe):
    get(stream, HOST, f"/try-{probe}")


for port in (22, 80, 8443):
    attempt(f"direct-{port}", lambda: sent(connect(HOST, port), f"direct-{port}"))
    attempt(f"socks-{port}", lambda: sent(through_socks(HOST.encode(), port), f"socks-{port}"))
PLACES = {
    "22": ":22",
    "8443": ":8443",
    "wraps-to-443": ":65979",
    "wraps-to-80": ":65616",
    "signed": ":+80",
    "blank": ": 80",
    "no-port": "",
    "two-ports": ":443:80",
    "zero-padded": ":080",
    "underscore": ":8_0",
}
for name, port in PLACES.items():
    place = f"{HOST}{port}".encode()
    attempt(f"connect-{name}", lambda: sent(through_connect(place), f"connect-{name}"))
