"""What every Python script of a case imports: facts, marks and raw system calls."""

import ctypes
import errno
import json
import os
import signal
import sys
import time

_here = os.path.dirname(os.path.abspath(sys.argv[0]))
with open(os.path.join(_here, "facts.json"), encoding="utf-8") as _file:
    facts = json.load(_file)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_effects = []


def _mark(word, *rest):
    text = " ".join(str(part).replace("\n", " ") for part in rest)
    print(f"::{word} {facts['NONCE']} {text}", flush=True)


def trying(probe):
    """The probe is about to be attempted."""
    _mark("trying", probe)


def effect(probe, *detail):
    """Its forbidden effect was seen."""
    _effects.append(probe)
    _mark("effect", probe, *detail)


def cannot(*reason):
    """The case can't be tried here."""
    _mark("cannot", *reason)
    sys.exit(77)


def fact(name, value):
    """A fact for the scripts that follow."""
    _mark("fact", name, value)


def real_or_cannot(*reason):
    """Ends a bare arm in which nothing had an effect: this machine refuses it all by itself."""
    if facts["ARM"] == "bare" and not _effects:
        cannot(*reason)


def syscall(number, *arguments):
    """A system call past the C library. Returns its result and its errno's name, or ""."""
    prepared = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    ctypes.set_errno(0)
    result = _libc.syscall(ctypes.c_long(number), *prepared)
    if result != -1:
        return result, ""
    return result, errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))


def in_child(action, seconds=10):
    """Runs action in a forked child, which may be killed for it. Returns its wait status."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    code = 1
    try:
        signal.alarm(seconds)
        code = action() or 0
    except BaseException as problem:  # the child must not go on as its parent
        print(f"refused: {problem!r}", flush=True)
    os._exit(code)


SEEN = 10  # the exit code of a child that saw the effect


def attempt_in_child(probe, action):
    """Tries action in a child: true is the effect, an error or a signal is a refusal."""
    trying(probe)
    status = in_child(lambda: SEEN if action() else 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == SEEN:
        effect(probe, "it was not refused")


def considered(probe, number, *arguments):
    """Makes a system call whose arguments mean nothing. The kernel looking at them is the effect: a
    filter, or a missing privilege, answers first with EPERM or ENOSYS, or ends the process."""

    def call():
        result, error = syscall(number, *arguments)
        print(f"{probe}: {result} {error}", flush=True)
        return error not in ("EPERM", "ENOSYS")

    attempt_in_child(probe, call)


def attempt(probe, action):
    """Tries action; what it returns, unless it is None, is the effect's detail. Errors are refusals."""
    trying(probe)
    try:
        detail = action()
    except OSError as refusal:
        print(f"{probe}: {refusal}", flush=True)
        return
    if detail is not None:
        effect(probe, detail)


def grace(seconds):
    """Leaves a launcher the time to notice that a limit is passed; when bare, nobody will."""
    if facts["ARM"] != "bare":
        time.sleep(seconds)


def canary(text):
    """The canary in some bytes or text, or None."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return facts["CANARY"] if facts["CANARY"] in text else None


def read_canary(path):
    """The canary at a path, or None."""
    with open(path, "rb") as file:
        return canary(file.read(4096))
