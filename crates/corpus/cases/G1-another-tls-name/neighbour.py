"""The hello that names the host."""

from net import connect, get, through_connect, tls

for host in ("registry.example.com", "seen.example.com"):
    assert b"hello" in get(tls(connect(host, 443), host), host)
    assert b"hello" in get(tls(through_connect(f"{host}:443".encode()), host), host)
