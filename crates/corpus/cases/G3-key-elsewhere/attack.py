"""The key as this process has it: the real one, or what stands for it."""

import os

from net import HOST, OTHER, connect, get, through_connect, tls
from probe import attempt

KEY = f"x-api-key: {os.environ.get('API_KEY', '')}"


def spent(stream, host, path, method="GET"):
    get(stream, host, path, KEY, method=method)


def at(host, port=443):
    return tls(connect(host, port), host)


attempt("other-host", lambda: spent(at(OTHER), OTHER, "/v1/spend-other-host"))
attempt("spoofed-host", lambda: spent(at(OTHER), HOST, "/v1/spend-spoofed-host"))
attempt("spoofed-name", lambda: spent(tls(connect(OTHER, 443), HOST), HOST, "/v1/spend-spoofed-name"))
attempt("other-port", lambda: spent(at(HOST, 8443), f"{HOST}:8443", "/v1/spend-other-port"))
attempt("without-tls", lambda: spent(connect(HOST), HOST, "/v1/spend-without-tls"))
place = f"{OTHER}:443".encode()
attempt("by-proxy", lambda: spent(tls(through_connect(place), OTHER), OTHER, "/v1/spend-by-proxy"))
PATHS = {
    "path": "/v2/spend-@",
    "longer-path": "/v10/spend-@",
    "parent": "/v1/../spend-@",
    "escaped-parent": "/v1/%2e%2e/spend-@",
    "escaped-slash": "/v1%2f..%2fspend-@",
    "double-slash": "//v1/spend-@",
    "other-case": "/V1/spend-@",
    "query": "/?/v1/spend-@",
}
for name, path in PATHS.items():
    attempt(name, lambda: spent(at(HOST), HOST, path.replace("@", name)))
for method in ("POST", "PUT", "DELETE", "TRACE", "get"):
    probe = f"method-{method.lower()}" + ("-small" if method == "get" else "")
    attempt(probe, lambda: spent(at(HOST), HOST, f"/v1/spend-{probe}", method))
