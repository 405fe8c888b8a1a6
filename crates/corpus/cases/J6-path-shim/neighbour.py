"""The bug is mended, and that is verified."""

from green import honest

honest(check="PATH=$HOME/.local/bin:$PWD/bin:$PATH python3 -m unittest")
