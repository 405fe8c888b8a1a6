"""Each by a client, and by both protocols of the proxy."""

from net import HOST, connect, get, through_connect, through_socks
from probe import attempt

NAMES = {
    "metadata": "metadata.google.internal",
    "metadata-short": "metadata",
    "localhost-domain": "localhost.localdomain",
    "localhost-below": f"{HOST}.localhost",
    "cluster": "kubernetes.default.svc.cluster.local",
    "cluster-below": f"{HOST}.default.svc.cluster.local",
    "gateway": "host.docker.internal",
}


def sent(stream, host, probe):
    get(stream, host, f"/try-{probe}", "Metadata-Flavor: Google")


for name, host in NAMES.items():
    place = host.encode()
    attempt(f"direct-{name}", lambda: sent(connect(host), host, f"direct-{name}"))
    decoy = f"{HOST}@{host}".encode()
    for way, asked in (("plain", place), ("decoy", decoy)):
        probe = f"connect-{way}-{name}"
        attempt(probe, lambda: sent(through_connect(asked + b":80"), host, probe))
        probe = f"socks-{way}-{name}"
        attempt(probe, lambda: sent(through_socks(asked, 80), host, probe))
