"""What a first command is not allowed, tried by a second one."""

import os
import signal
import socket

from probe import attempt, attempt_in_child, canary, effect, facts, read_canary, syscall, trying

NEW_USER, UNSHARE, KEYCTL = 0x10000000, 272, 250
KEPT = {"EPERM", "ENOSYS"}


def connect():
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(5)
    peer.connect(f"\0loop-attack-{facts['NONCE']}-stream")
    return canary(peer.recv(100))


def no_filter():
    with open("/proc/self/status", encoding="ascii") as status:
        return "none is in force" if "Seccomp:\t0" in status.read() else None


attempt("file", lambda: read_canary(f"{facts['OUTSIDE']}/secret"))
attempt("home", lambda: read_canary(f"{facts['HOST_HOME']}/.ssh/id_canary"))
attempt("socket", connect)
attempt("variable", lambda: canary(os.environ.get("SOME_VARIABLE", "")))
attempt_in_child("namespace", lambda: syscall(UNSHARE, NEW_USER)[0] == 0)
attempt_in_child("keyring", lambda: syscall(KEYCTL, 0, -3, 0)[1] not in KEPT)
attempt("filter", no_filter)
trying("processes")
children = []
try:
    for _ in range(200):
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
    effect("processes", "200 at once")
except OSError:
    pass
finally:
    for child in children:
        os.kill(child, signal.SIGKILL)
