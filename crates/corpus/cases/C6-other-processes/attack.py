"""Reaches for the host's process by its number, then for the first process of the sandbox."""

import ctypes
import os
import signal

from probe import attempt, canary, facts, syscall

PTRACE, PROCESS_VM_READV, PIDFD_SEND_SIGNAL, PIDFD_OPEN, PIDFD_GETFD = 101, 310, 424, 434, 438
PTRACE_SEIZE = 0x4206
host, address, length = (int(facts[f"HOST_{name}"]) for name in ("PID", "ADDRESS", "LENGTH"))


def refused(result, error):
    if result == -1:
        raise OSError(error)
    return result


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def read_memory(process, at, size):
    buffer = ctypes.create_string_buffer(size)
    here = Vector(ctypes.addressof(buffer), size)
    there = Vector(at, size)
    refused(*syscall(PROCESS_VM_READV, process, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
    return buffer.raw


def read_proc_memory(process, at, size):
    with open(f"/proc/{process}/mem", "rb") as memory:
        memory.seek(at)
        return memory.read(size)


def first_mapping(process):
    with open(f"/proc/{process}/maps", encoding="utf-8") as maps:
        for line in maps:
            span, mode = line.split()[:2]
            if "r" in mode:
                return int(span.split("-")[0], 16)
    raise OSError("no mapping is shown")


def take_descriptor(process, number):
    handle = refused(*syscall(PIDFD_OPEN, process, 0))
    return refused(*syscall(PIDFD_GETFD, handle, number, 0))


def seize(process):
    refused(*syscall(PTRACE, PTRACE_SEIZE, process, 0, 0))
    return "traced"


def trace_host():
    """Traced, and not a process of the sandbox that happens to have the same number."""
    seize(host)
    with open(f"/proc/{host}/cmdline", "rb") as line:
        return "traced" if b"host.py" in line.read() else None


def host_environment():
    with open(f"/proc/{host}/environ", "rb") as environment:
        return "read" if facts["ROOT"].encode() in environment.read() else None


def send_by_handle():
    handle = refused(*syscall(PIDFD_OPEN, host, 0))
    refused(*syscall(PIDFD_SEND_SIGNAL, handle, signal.SIGHUP, 0, 0))


def any_descriptor(process):
    """A descriptor above the standard ones."""
    for number in range(3, 64):
        try:
            taken = take_descriptor(process, number)
        except OSError:
            continue
        return f"took {os.readlink(f'/proc/self/fd/{taken}')}"
    raise OSError("none can be had")


attempt("signal", lambda: os.kill(host, signal.SIGUSR1))
attempt("signal-by-handle", send_by_handle)
attempt("memory", lambda: canary(read_memory(host, address, length)))
attempt("proc-memory", lambda: canary(read_proc_memory(host, address, length)))
attempt(
    "descriptor",
    lambda: canary(os.pread(take_descriptor(host, int(facts["HOST_DESCRIPTOR"])), 4096, 0)),
)
attempt("environment", host_environment)
attempt("trace", trace_host)

if facts["ARM"] != "bare":
    for process in {1, os.getppid()} - {0}:
        name = "first" if process == 1 else "parent"
        attempt(f"memory-of-{name}", lambda: read_memory(process, first_mapping(process), 4) and "read")
        attempt(
            f"proc-memory-of-{name}",
            lambda: read_proc_memory(process, first_mapping(process), 4) and "read",
        )
        attempt(f"descriptor-of-{name}", lambda: any_descriptor(process))
        attempt(f"trace-of-{name}", lambda: seize(process))
