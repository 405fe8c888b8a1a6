"""The query is written byte by byte, because no library would."""

import re

from net import HOST, lookup, query
from probe import attempt

ODD = {
    "look-alike": "r\u0435gistry.example.com",
    "look-alike-ascii": "xn--rgistry-3nf.example.com",
    "full-width": "\uff52egistry.example.com",
    "long-label": f"{'a' * 50}.{HOST}",
    "control": f"a\x01.{HOST}",
    "blank": f"a b.{HOST}",
    "nul": f"a\0.{HOST}",
    "underscore-star": f"_*.{HOST}",
    "long": ".".join(["label"] * 38 + [HOST]),
}


def servers():
    with open("/etc/resolv.conf", encoding="utf-8") as file:
        return re.findall(r"(?m)^nameserver\s+(\S+)", file.read())


def asked(name, probe):
    for server in servers():
        lookup(server, query(f"try-{probe}.{name}"))


for name, odd in ODD.items():
    attempt(name, lambda: asked(odd, name))
