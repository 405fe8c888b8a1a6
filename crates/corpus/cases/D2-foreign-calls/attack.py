"""getpid by int 0x80, and by its x32 number."""

import ctypes
import mmap
import os

from probe import attempt_in_child, facts, cannot, real_or_cannot, syscall

X32 = 0x40000000
GETPID_I386, GETPID = 20, 39


def i386():
    """mov eax, 20; int 0x80; ret"""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8" + GETPID_I386.to_bytes(4, "little") + b"\xcd\x80\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid()


attempt_in_child("i386", i386)
attempt_in_child("x32", lambda: syscall(X32 | GETPID)[0] == os.getpid())
real_or_cannot("this kernel knows neither i386 nor x32 calls")
