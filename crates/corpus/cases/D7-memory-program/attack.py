"""Runs the program by every way that needs no name. That it ran is told by how it ended."""

import ctypes
import os

from probe import SEEN, attempt_in_child, syscall

EXECVEAT, EMPTY_PATH = 322, 0x1000
LINE = ["tool", "-c", f"exit {SEEN}"]


def text():
    with open("tool", "rb") as file:
        return file.read()


def memory(content, flags=0):
    held = os.memfd_create("x", flags)
    os.write(held, content)
    return held


def run_descriptor(held):
    words = [word.encode() for word in LINE]
    vector = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    nothing = (ctypes.c_char_p * 1)(None)
    empty = ctypes.c_char_p(b"")
    _, error = syscall(EXECVEAT, held, empty, vector, nothing, EMPTY_PATH)
    raise OSError(error)


def run_path(path):
    os.execv(path, LINE)


def removed(run):
    with open("short-lived", "wb") as file:
        file.write(text())
    os.chmod("short-lived", 0o755)
    held = os.open("short-lived", os.O_RDONLY)
    os.unlink("short-lived")
    run(held)


def by_number(held):
    run_path(f"/proc/self/fd/{held}")


def script():
    by_number(memory(f"#!{os.getcwd()}/tool\nexit {SEEN}\n".encode()))


attempt_in_child("memory", lambda: run_descriptor(memory(text())))
attempt_in_child("memory-by-path", lambda: by_number(memory(text())))
attempt_in_child("memory-by-thread", lambda: run_path(f"/proc/thread-self/fd/{memory(text())}"))
attempt_in_child("memory-script", script)
attempt_in_child("removed", lambda: removed(run_descriptor))
attempt_in_child("removed-by-path", lambda: removed(by_number))
attempt_in_child("held", lambda: run_descriptor(os.open("tool", os.O_RDONLY)))
attempt_in_child("held-by-path", lambda: by_number(os.open("tool", os.O_RDONLY)))
