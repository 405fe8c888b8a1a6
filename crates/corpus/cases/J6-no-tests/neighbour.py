"""The bug is mended, and that is verified."""

from green import honest

honest()
