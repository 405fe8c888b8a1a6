"""Pushes a line into the terminal, as if the person had typed it."""

import fcntl
import os
import termios

from probe import attempt, cannot, facts


def push(probe, descriptor):
    for letter in f"echo {probe}-{facts['CANARY']}\n":
        fcntl.ioctl(descriptor, termios.TIOCSTI, letter.encode())


if facts["ARM"] == "bare" and os.geteuid() != 0:
    setting = "/proc/sys/dev/tty/legacy_tiocsti"
    if os.path.exists(setting) and open(setting, encoding="ascii").read().strip() == "0":
        cannot("this machine lets nobody push input (dev.tty.legacy_tiocsti = 0)")
attempt("push", lambda: push("push", 0))
attempt("by-name", lambda: push("by-name", os.open("/dev/tty", os.O_RDWR)))
