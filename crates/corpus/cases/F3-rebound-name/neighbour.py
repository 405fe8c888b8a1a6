"""A name that moves from one public address to another."""

from net import connect, get

for _ in range(3):
    assert b"hello" in get(connect("moved.example.com"), "moved.example.com")
