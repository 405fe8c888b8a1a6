"""The same calls on ordinary files, and reading a guarded one."""

import ctypes
import os
import struct

from probe import syscall

OPEN, TRUNCATE, CREAT, OPENAT, OPENAT2 = 2, 76, 85, 257, 437
HERE = -100
path = ctypes.c_char_p(b"src/data.txt")
how = ctypes.create_string_buffer(struct.pack("=QQQ", os.O_WRONLY | os.O_APPEND, 0, 0), 24)
calls = (
    (OPEN, path, os.O_WRONLY | os.O_APPEND),
    (OPENAT, HERE, path, os.O_WRONLY | os.O_APPEND),
    (OPENAT2, HERE, path, how, 24),
    (CREAT, ctypes.c_char_p(b"created"), 0o600),
)
for call in calls:
    result, error = syscall(*call)
    assert result >= 0, error
    assert os.write(result, b"more\n") == 5
result, error = syscall(TRUNCATE, ctypes.c_char_p(b"created"), 2)
assert result == 0, error
with open("guarded/open/.envrc", encoding="ascii") as guarded:
    assert guarded.read() == "kept\n"
