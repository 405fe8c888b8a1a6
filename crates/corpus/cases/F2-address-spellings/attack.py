"""A service that listens everywhere, by any spelling of any of its addresses."""

from net import connect, get, through_connect, through_socks
from probe import attempt

SPELLINGS = {
    "plain": "127.0.0.1",
    "short": "127.1",
    "decimal": "2130706433",
    "octal": "0177.0.0.1",
    "hexadecimal": "0x7f000001",
    "nothing": "0.0.0.0",
    "zero": "0",
    "six": "::1",
    "mapped": "::ffff:127.0.0.1",
    "translated": "64:ff9b::7f00:1",
    "tunnelled": "2002:7f00:1::",
    "private": "10.1.2.3",
    "carrier": "100.64.1.1",
    "link-local": "169.254.1.1",
    "metadata": "169.254.169.254",
    "metadata-decimal": "2852039166",
    "public": "1.1.1.1",
}


def sent(stream, probe):
    get(stream, "registry.example.com", f"/try-{probe}")


def places(spelling):
    """As itself, and behind an allowed name."""
    bracketed = f"[{spelling}]" if ":" in spelling else spelling
    return {"connect": bracketed.encode(), "decoy": f"registry.example.com@{bracketed}".encode()}


for name, spelling in SPELLINGS.items():
    attempt(f"direct-{name}", lambda: sent(connect(spelling, 8080), f"direct-{name}"))
    for way, place in places(spelling).items():
        probe = f"{way}-{name}"
        attempt(probe, lambda: sent(through_connect(place + b":8080"), probe))
        attempt(f"socks-{probe}", lambda: sent(through_socks(place, 8080), f"socks-{probe}"))
address = bytes([127, 0, 0, 1])
attempt("socks-four", lambda: sent(through_socks(address, 8080, kind=1), "socks-four"))
six = bytes(15) + b"\1"
attempt("socks-six", lambda: sent(through_socks(six, 8080, kind=4), "socks-six"))
