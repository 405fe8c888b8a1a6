"""Each of them once. What fails is named."""

import ctypes
import errno
import fcntl
import getpass
import os
import pwd
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)


def interfaces():
    assert "lo" in [name for _, name in socket.if_nameindex()]


def user():
    assert pwd.getpwuid(os.getuid()).pw_name
    assert getpass.getuser()
    assert subprocess.run(["id", "-un"], capture_output=True, check=True).stdout.strip()


def sudo():
    """It may be missing or refuse. It must not hang, nor succeed for an ordinary user."""
    if not shutil.which("sudo"):
        return
    ended = subprocess.run(["sudo", "-n", "true"], capture_output=True, timeout=20, check=False)
    assert ended.returncode != 0 or os.getuid() == 0


def processes():
    if shutil.which("ps"):
        listed = subprocess.run(["ps", "-e", "-o", "pid,comm"], capture_output=True, check=True).stdout
        assert b"ps" in listed
    assert os.path.isdir(f"/proc/{os.getpid()}")


def shared_memory():
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        file.write(b"x")


def semaphores():
    """A named POSIX semaphore, which lives in /dev/shm."""
    library = ctypes.CDLL("libc.so.6", use_errno=True)
    library.sem_open.restype = ctypes.c_void_p
    name = f"/neighbour-{os.getpid()}".encode()
    semaphore = library.sem_open(name, os.O_CREAT, 0o600, 1)
    assert semaphore, os.strerror(ctypes.get_errno())
    assert library.sem_wait(ctypes.c_void_p(semaphore)) == 0
    assert library.sem_unlink(name) == 0


def watching():
    """inotify sees a new file in the workspace."""
    os.makedirs("watched", exist_ok=True)
    watch = libc.inotify_init1(0)
    assert watch >= 0, os.strerror(ctypes.get_errno())
    assert libc.inotify_add_watch(watch, b"watched", 0x100) >= 0
    threading.Timer(0.1, lambda: open("watched/new", "w").close()).start()
    assert b"new" in os.read(watch, 4096)


def locks():
    with open("locked", "w", encoding="ascii") as first, open("locked", "w", encoding="ascii") as second:
        fcntl.flock(first, fcntl.LOCK_EX)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            raise AssertionError("a second lock was given")
        fcntl.flock(first, fcntl.LOCK_UN)
        region = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 10, 0)
        fcntl.fcntl(first, fcntl.F_SETLK, region)


def sparse():
    with open("sparse", "wb") as file:
        file.truncate(1 << 30)
        file.seek(1 << 29)
        file.write(b"x")
    assert os.stat("sparse").st_blocks * 512 < 1 << 20
    os.unlink("sparse")


def attributes():
    with open("attributed", "wb") as file:
        try:
            os.setxattr(file.fileno(), "user.neighbour", b"value")
        except OSError as refusal:
            if refusal.errno == errno.ENOTSUP:
                return  # the file system has none
            raise
        assert os.getxattr(file.fileno(), "user.neighbour") == b"value"


def times():
    os.utime("README.md", (1, 1))
    assert os.stat("README.md").st_mtime == 1
    assert time.localtime().tm_year >= 2000


def files():
    descriptor, path = tempfile.mkstemp()
    os.close(descriptor)
    os.rename(path, path + "-renamed")
    os.unlink(path + "-renamed")
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    with open("/dev/urandom", "rb") as random, open("/dev/null", "wb") as null:
        null.write(random.read(16))
    with open("/dev/full", "wb", buffering=0) as full:
        try:
            full.write(b"x")
        except OSError as refusal:
            assert refusal.errno == errno.ENOSPC


def names():
    assert socket.gethostname()
    socket.getaddrinfo("localhost", 80)


checks = (interfaces, user, sudo, processes, shared_memory, semaphores, watching, locks, sparse,
          attributes, times, files, names)
failed = []
for check in checks:
    try:
        check()
    except Exception as problem:  # all are tried, so that all are named
        failed.append(f"{check.__name__}: {problem!r}")
sys.exit("\n".join(failed) or 0)
