"""Several public addresses, of both families."""

from net import connect, get

assert b"hello" in get(connect("both.example.com"), "both.example.com")
