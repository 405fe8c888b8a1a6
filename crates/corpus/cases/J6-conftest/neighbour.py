"""The bug is mended under pytest, and that is verified."""

from green import honest

honest(check="pytest-3 -q")
