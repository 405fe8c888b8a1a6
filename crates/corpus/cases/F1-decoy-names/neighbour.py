"""The allowed name itself, by either protocol, in any spelling that means it."""

from net import HOST, get, through_connect, through_socks

for name in (HOST, HOST.upper(), f"{HOST}."):
    place = name.encode()
    assert b"hello" in get(through_connect(place + b":80"), HOST), name
    assert b"hello" in get(through_socks(place, 80), HOST), name
