"""Every call that makes or enters a namespace."""

import ctypes
import os
import struct

from probe import attempt_in_child, considered, real_or_cannot, syscall

CLONE, UNSHARE, SETNS, CLONE3 = 56, 272, 308, 435
SIGCHLD = 17
FLAGS = {
    "user": 0x10000000,
    "mount": 0x00020000,
    "pid": 0x20000000,
    "network": 0x40000000,
    "ipc": 0x08000000,
    "names": 0x04000000,
    "cgroup": 0x02000000,
    "time": 0x00000080,
}


def forked(result):
    """Whether a fork by raw system call made a child; the child ends here."""
    if result == 0:
        os._exit(0)
    if result > 0:
        os.waitpid(result, 0)
    return result > 0


def clone3(flags):
    arguments = struct.pack("=11Q", flags, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, 0)
    return forked(syscall(CLONE3, ctypes.create_string_buffer(arguments, 88), 88)[0])


for name, flag in FLAGS.items():
    attempt_in_child(f"unshare-{name}", lambda flag=flag: syscall(UNSHARE, flag)[0] == 0)
attempt_in_child("clone-user", lambda: forked(syscall(CLONE, FLAGS["user"] | SIGCHLD, 0, 0, 0, 0)[0]))
attempt_in_child("clone3-user", lambda: clone3(FLAGS["user"]))
attempt_in_child("clone3", lambda: clone3(0))
considered("setns", SETNS, -1, 0)
real_or_cannot("this machine refuses new namespaces by itself")
