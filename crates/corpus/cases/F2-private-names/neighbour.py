"""A public address, and a private one that the owner has named."""

from net import connect, get

for name in ("public.there.example.com", "pinned.there.example.com"):
    assert b"hello" in get(connect(name), name), name
