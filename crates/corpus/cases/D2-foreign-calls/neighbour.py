"""Code made at run time works, and so does the native call."""

import ctypes
import mmap
import os

page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\xb8\x27\x00\x00\x00\x0f\x05\xc3")  # mov eax, 39; syscall; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
assert ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid()
