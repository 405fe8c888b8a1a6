"""Runs a command on a machine that lacks a facility: without.py FACILITY COMMAND…

A system call filter answers as a kernel without it would, or mounts hide what shows it. The command
inherits that, and nothing else changes.
"""

import ctypes
import errno
import os
import struct
import sys

from probe import cannot, syscall

MOUNT, PRCTL, UNSHARE, SECCOMP = 165, 157, 272, 317
CLONE, CLONE3, IOCTL, CAPSET = 56, 435, 16, 126
NEW_USER, NEW_MOUNT, NEW_NETWORK = 0x10000000, 0x00020000, 0x40000000
LOAD, JUMP_EQUAL, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER, FIRST, SECOND = 0, 16, 24  # offsets in struct seccomp_data; the arguments' low halves


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def refuse(number, answer, argument=None):
    """Lines of a filter: this call fails so; with an argument, only where it has this value or bit."""
    fail = [(RETURN, 0, 0, ERRNO | answer)]
    if argument is not None:
        offset, test, value = argument
        fail = [(LOAD, 0, 0, offset), (test, 0, 1, value), *fail, (LOAD, 0, 0, NUMBER)]
    return [(JUMP_EQUAL, 0, len(fail), number), *fail]


def install(*calls):
    """Installs a filter of those lines and allows the rest."""
    lines = [(LOAD, 0, 0, NUMBER), *(line for call in calls for line in call), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = Program(len(lines), ctypes.addressof(code))
    syscall(PRCTL, 38, 1, 0, 0, 0)
    if syscall(SECCOMP, 1, 0, ctypes.byref(program))[0] != 0:
        cannot("this machine has no system call filters to take the facility away with")


def own_mounts():
    """A user and a mount namespace, in which this user may mount."""
    user, group = os.getuid(), os.getgid()
    if syscall(UNSHARE, NEW_USER | NEW_MOUNT)[0] != 0:
        cannot("this machine has no user namespaces to take the facility away with")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"0 {user} 1"),
        ("gid_map", f"0 {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def mount(kind, place, flags=0, options=""):
    text = [ctypes.c_char_p(part.encode()) for part in (kind, place, kind, options)]
    result, error = syscall(MOUNT, text[0], text[1], text[2], flags, text[3])
    if result != 0:
        cannot(f"{kind} can't be mounted at {place}: {error}")


def without_overlay():
    """The project lies on two overlays already, and the kernel stacks no third."""
    own_mounts()
    project, root = os.getcwd(), os.path.dirname(os.path.dirname(os.getcwd()))
    below = project
    for name in ("one", "two"):
        places = {part: f"{root}/stacked-{name}-{part}" for part in ("upper", "work", "at")}
        for place in places.values():
            os.mkdir(place)
        at = project if name == "two" else places["at"]
        options = f"lowerdir={below},upperdir={places['upper']},workdir={places['work']},userxattr"
        mount("overlay", at, 0, options)
        below = at
    os.chdir(project)


def hidden(place):
    own_mounts()
    mount("tmpfs", place)


READ_ONLY = 1


def state_full():
    """A disk of 64 KiB under Loop's own directory, all of it taken."""
    place = os.environ["LOOP_HOME"]
    os.makedirs(place, exist_ok=True)
    own_mounts()
    mount("tmpfs", place, 0, "size=64k")
    try:
        with open(f"{place}/filler", "wb") as file:
            while True:
                file.write(bytes(4096))
                file.flush()
    except OSError:
        pass  # full, as wanted


def state_read_only():
    place = os.environ["LOOP_HOME"]
    os.makedirs(place, exist_ok=True)
    own_mounts()
    mount("tmpfs", place, READ_ONLY)


NEW_NAMESPACES = (FIRST, JUMP_ANY_BIT, NEW_NETWORK)
USER_NAMESPACES = (FIRST, JUMP_ANY_BIT, NEW_USER)
FACILITIES = {
    "user-namespaces": lambda: install(
        refuse(UNSHARE, errno.EPERM, USER_NAMESPACES),
        refuse(CLONE, errno.EPERM, USER_NAMESPACES),
        refuse(CLONE3, errno.ENOSYS),
    ),
    "namespaces": lambda: install(
        refuse(UNSHARE, errno.EINVAL, NEW_NAMESPACES),
        refuse(CLONE, errno.EINVAL, NEW_NAMESPACES),
        refuse(CLONE3, errno.ENOSYS),
    ),
    "mounts": lambda: install(refuse(MOUNT, errno.EPERM)),
    "landlock": lambda: install(*(refuse(number, errno.ENOSYS) for number in (444, 445, 446))),
    "seccomp": lambda: install(
        refuse(PRCTL, errno.EINVAL, (FIRST, JUMP_EQUAL, 22)),
        refuse(SECCOMP, errno.ENOSYS),
    ),
    "loopback": lambda: install(refuse(IOCTL, errno.EPERM, (SECOND, JUMP_EQUAL, 0x8914))),
    "capset": lambda: install(refuse(CAPSET, errno.EPERM)),
    "overlay": without_overlay,
    "proc-mounts": lambda: hidden("/proc/sys"),
    "proc": lambda: hidden("/proc"),
    "state-full": state_full,
    "state-read-only": state_read_only,
    "cgroup": lambda: hidden("/sys/fs/cgroup"),
}

FACILITIES[sys.argv[1]]()
os.execvp(sys.argv[2], sys.argv[2:])
