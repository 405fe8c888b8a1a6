"""Writes to a guarded file, each by another call."""

import ctypes
import os
import struct

from probe import attempt, considered, syscall

OPEN, TRUNCATE, CREAT, OPENAT, OPENAT2, IO_URING_SETUP = 2, 76, 85, 257, 437, 425
HERE, BENEATH = -100, 8
WRITE, TRUNCATED = os.O_WRONLY, os.O_TRUNC


def place(name):
    return ctypes.c_char_p(f"guarded/{name}/.envrc".encode())


def rules(flags, resolve=0):
    return ctypes.create_string_buffer(struct.pack("=QQQ", flags, 0, resolve), 24)


def write(opened):
    """Writes through what a call gave."""
    result, error = opened
    if result < 0:
        raise OSError(error)
    os.write(result, b"changed\n")


def succeed(result, error):
    if result < 0:
        raise OSError(error)


def by_descriptor():
    held = os.open("guarded/descriptor/.envrc", os.O_RDONLY)
    write(syscall(OPEN, ctypes.c_char_p(f"/proc/self/fd/{held}".encode()), os.O_RDWR))


def by_link():
    os.symlink("guarded/link/.envrc", "pointer")
    write(syscall(OPEN, ctypes.c_char_p(b"pointer"), WRITE))


around = ctypes.c_char_p(b"src/..//guarded/./slashes//.envrc")
attempt("open", lambda: write(syscall(OPEN, place("open"), WRITE)))
attempt("openat", lambda: write(syscall(OPENAT, HERE, place("openat"), os.O_RDWR)))
attempt("openat2", lambda: write(syscall(OPENAT2, HERE, place("openat2"), rules(WRITE), 24)))
attempt("resolve", lambda: write(syscall(OPENAT2, HERE, place("resolve"), rules(WRITE, BENEATH), 24)))
attempt("creat", lambda: write(syscall(CREAT, place("creat"), 0o600)))
attempt("cut", lambda: succeed(*syscall(OPEN, place("cut"), os.O_RDONLY | TRUNCATED)))
attempt("truncate", lambda: succeed(*syscall(TRUNCATE, place("truncate"), 0)))
attempt("descriptor", by_descriptor)
attempt("link", by_link)
attempt("slashes", lambda: write(syscall(OPEN, around, WRITE)))
attempt("new", lambda: write(syscall(OPEN, ctypes.c_char_p(b".envrc"), WRITE | os.O_CREAT, 0o600)))
considered("io_uring", IO_URING_SETUP, 1, 0)
