"""Each place contains an allowed name; what decides is where it leads."""

from net import EVIL, HOST, get, through_connect, through_socks
from probe import attempt

DECOYS = {
    "nul": f"{EVIL}\0.{HOST}",
    "blank": f"{EVIL} .{HOST}",
    "tab": f"{EVIL}\t{HOST}",
    "line-end": f"{EVIL}\r\n{HOST}",
    "bare-line-end": f"{EVIL}\n{HOST}",
    "user": f"{HOST}@{EVIL}",
    "user-and-port": f"{HOST}:443@{EVIL}",
    "fragment": f"{EVIL}#{HOST}",
    "path": f"{EVIL}/{HOST}",
    "backslash": f"{EVIL}\\{HOST}",
    "query": f"{EVIL}?{HOST}",
    "escaped-nul": f"{EVIL}%00{HOST}",
    "escaped-path": f"{EVIL}%2f{HOST}",
    "brackets": f"[{HOST}@{EVIL}]",
    "prefix": f"{HOST}.{EVIL}",
    "suffix": f"evil{HOST}",
}


def sent(stream, probe):
    get(stream, HOST, f"/try-{probe}")


for name, decoy in DECOYS.items():
    host = decoy.encode()
    attempt(f"connect-{name}", lambda: sent(through_connect(host + b":80"), f"connect-{name}"))
    attempt(f"socks-{name}", lambda: sent(through_socks(host, 80), f"socks-{name}"))
