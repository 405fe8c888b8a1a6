"""Drives an interactive shell as a person would."""

import os
import pty
import re
import select
import signal
import sys
import time

child, master = pty.fork()
if child == 0:
    # A terminal's shell heeds its keys, whatever whoever started this ignores.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.update(PS1="ready> ", TERM="dumb")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
seen = b""


def expect(pattern, seconds=15):
    """Reads until the shell has written this."""
    global seen
    deadline = time.monotonic() + seconds
    while not re.search(pattern, seen):
        if time.monotonic() > deadline or not select.select([master], [], [], seconds)[0]:
            sys.exit(f"waited for {pattern!r}, saw {seen!r}")
        seen += os.read(master, 4096)
    seen = b""


def type_in(text):
    os.write(master, text)


expect(rb"ready> ")
type_in(b"tty && echo $((40 + 2))\n")
expect(rb"/dev/pts/\d+\r\n42\r\n")
type_in(b"sleep 30\n")
time.sleep(0.3)
type_in(b"\x1a")  # Ctrl-Z
expect(rb"Stopped\s+sleep 30")
type_in(b"jobs && fg\n")
expect(rb"sleep 30\r\n.*sleep 30\r\n")
time.sleep(0.3)
type_in(b"\x03")  # Ctrl-C
expect(rb"\^C")
type_in(b"echo $((100 + 1)); exit 5\n")
expect(rb"101")
while True:
    try:
        if not os.read(master, 4096):
            break
    except OSError:
        break
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
