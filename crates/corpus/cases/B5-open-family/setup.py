"""Takes a handle of the secret; a handle opens a file without a path."""

import ctypes
import struct

from probe import facts, syscall

NAME_TO_HANDLE_AT = 303
buffer = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
mount = ctypes.c_int()
path = ctypes.c_char_p(f"{facts['OUTSIDE']}/secret".encode())
result, error = syscall(NAME_TO_HANDLE_AT, -100, path, buffer, ctypes.byref(mount), 0)
handle = buffer.raw.hex() if result == 0 else ""
print(f"::fact {facts['NONCE']} HANDLE {handle}", flush=True)
