"""Opens the secret by every call."""

import ctypes
import os
import struct

from probe import attempt, canary, facts, syscall

OPEN, CREAT, OPENAT, OPENAT2, OPEN_BY_HANDLE_AT = 2, 85, 257, 437, 304
HERE = -100
SECRET = f"{facts['OUTSIDE']}/secret"


def text(path):
    return ctypes.c_char_p(path.encode())


def read(result, error):
    if result < 0:
        raise OSError(error)
    return canary(os.read(result, 4096))


def by_handle():
    handle = bytes.fromhex(facts["HANDLE"])
    if not handle:
        raise OSError("the file system gives no handles")
    mount = os.open(".", os.O_RDONLY)
    return read(*syscall(OPEN_BY_HANDLE_AT, mount, ctypes.create_string_buffer(handle, len(handle)), 0))


def create(path):
    result, error = syscall(CREAT, text(path), 0o600)
    if result < 0:
        raise OSError(error)
    os.write(result, b"created")


how = ctypes.create_string_buffer(struct.pack("=QQQ", 0, 0, 0), 24)
around = os.path.relpath(SECRET)
attempt("open", lambda: read(*syscall(OPEN, text(SECRET), 0)))
attempt("openat", lambda: read(*syscall(OPENAT, HERE, text(SECRET), 0)))
attempt("openat2", lambda: read(*syscall(OPENAT2, HERE, text(SECRET), how, 24)))
attempt("relative", lambda: read(*syscall(OPENAT, HERE, text(around), 0)))
attempt("working-directory", lambda: read(*syscall(OPEN, text(f"/proc/self/cwd/{around}"), 0)))
attempt("slashes", lambda: read(*syscall(OPEN, text(f"/{SECRET}".replace("/", "///./")), 0)))
attempt("handle", by_handle)
attempt("creat", lambda: create(f"{facts['OUTSIDE']}/created"))
