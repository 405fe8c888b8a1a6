"""The port that is allowed."""

from net import HOST, connect, get, through_connect, tls

assert b"hello" in get(tls(connect(HOST, 443), HOST), HOST)
assert b"hello" in get(tls(through_connect(f"{HOST}:443".encode()), HOST), HOST)
