"""Follows every link that leads to a place rather than to a name."""

import glob
import os

from probe import attempt, canary, facts, read_canary

SECRET, HOST = f"{facts['OUTSIDE']}/secret", facts["HOST_PID"]


def inherited():
    """Reads whatever is open already."""
    for number in range(3, 64):
        try:
            found = canary(os.pread(number, 4096, 0))
        except OSError:
            continue
        if found:
            return f"descriptor {number}: {found}"
    raise OSError("nothing of the kind is open")


def directory():
    for number in range(3, 64):
        try:
            return read_canary(f"/proc/self/fd/{number}/secret")
        except OSError:
            continue
    raise OSError("no directory of the kind is open")


def descriptors_of(process):
    for path in glob.glob(f"/proc/{process}/fd/*"):
        if os.path.isfile(path) and (found := read_canary(path)):
            return f"{path}: {found}"
    raise OSError("none can be read")


attempt("inherited-file", inherited)
attempt("inherited-directory", directory)
attempt("root-of-self", lambda: read_canary(f"/proc/self/root{SECRET}"))
attempt("root-of-first", lambda: read_canary(f"/proc/1/root{SECRET}"))
attempt("directory-of-first", lambda: read_canary(f"/proc/1/cwd/{os.path.relpath(SECRET, '/')}"))
attempt("root-of-parent", lambda: read_canary(f"/proc/{os.getppid()}/root{SECRET}"))
attempt("root-of-host", lambda: read_canary(f"/proc/{HOST}/root{SECRET}"))
attempt("directory-of-host", lambda: read_canary(f"/proc/{HOST}/cwd/secret"))
attempt("descriptors-of-host", lambda: descriptors_of(HOST))
attempt("descriptors-of-first", lambda: descriptors_of(1))
attempt("thread", lambda: read_canary(f"/proc/thread-self/root{SECRET}"))
