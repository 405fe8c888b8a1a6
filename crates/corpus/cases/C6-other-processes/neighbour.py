"""The command's own child can be signalled, traced and read."""

import ctypes
import os
import signal

from probe import facts, syscall

PTRACE, PTRACE_SEIZE, PIDFD_OPEN, PIDFD_GETFD = 101, 0x4206, 434, 438
child = os.fork()
if child == 0:
    while True:
        signal.pause()
assert syscall(PTRACE, PTRACE_SEIZE, child, 0, 0) == (0, ""), "a child can't be traced"
handle, error = syscall(PIDFD_OPEN, child, 0)
assert not error, error
assert syscall(PIDFD_GETFD, handle, 1, 0)[0] >= 0, "a child's descriptor can't be had"
os.kill(child, signal.SIGKILL)
assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
