"""Two connections to the same name."""

from net import connect, get
from probe import attempt

NAME = "rebound.example.com"


def twice():
    assert b"hello" in get(connect(NAME), NAME), "the first answer is public"
    for _ in range(3):
        get(connect(NAME), NAME, "/try-rebound")


attempt("rebound", twice)
