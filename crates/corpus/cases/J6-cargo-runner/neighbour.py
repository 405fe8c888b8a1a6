"""The bug is mended, and that is verified."""

from green import RUST, RUST_MEND, cargo, honest

honest(RUST_MEND, files=RUST, check=cargo())
