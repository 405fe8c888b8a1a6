"""Runs a command on a new terminal and then reads, as a shell would, what waits there as input."""

import fcntl
import os
import select
import sys
import termios

from probe import effect, facts

master, slave = os.openpty()
child = os.fork()
if child == 0:
    os.setsid()
    for number in (0, 1, 2):
        os.dup2(slave, number)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.closerange(3, 64)
    os.execvp(sys.argv[1], sys.argv[1:])


def relay():
    """What the command writes, until nothing more comes."""
    while select.select([master], [], [], 0)[0]:
        sys.stdout.buffer.write(os.read(master, 65536))
    sys.stdout.flush()


while True:
    select.select([master], [], [], 0.05)
    relay()
    ended, status = os.waitpid(child, os.WNOHANG)
    if ended:
        break
relay()
settings = termios.tcgetattr(slave)
settings[3] &= ~(termios.ICANON | termios.ECHO)
termios.tcsetattr(slave, termios.TCSANOW, settings)
os.set_blocking(slave, False)
try:
    waiting = os.read(slave, 4096)
except BlockingIOError:
    waiting = b""
for probe in ("push", "by-name"):
    line = f"echo {probe}-{facts['CANARY']}"
    if line.encode() in waiting:
        effect(probe, f"the shell would run: {line}")
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
