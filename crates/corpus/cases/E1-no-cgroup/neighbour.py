"""Half of what is allowed."""

held = bytearray(64 << 20)
held[:: 4096] = b"x" * (len(held) // 4096)
