"""The same calls on a file of the project."""

import ctypes
import os
import struct

from probe import syscall

path = ctypes.c_char_p(b"src/data.txt")
how = ctypes.create_string_buffer(struct.pack("=QQQ", 0, 0, 0), 24)
for call in ((2, path, 0), (257, -100, path, 0), (437, -100, path, how, 24)):
    result, error = syscall(*call)
    assert result >= 0, error
    assert os.read(result, 100) == b"one\ntwo\nthree\n"
result, error = syscall(85, ctypes.c_char_p(b"created"), 0o600)
assert result >= 0, error
