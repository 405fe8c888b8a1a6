"""What every Python script of a case imports: facts, marks and raw system calls."""

import ctypes
import errno
import json
import os
import signal
import sys

_here = os.path.dirname(os.path.abspath(sys.argv[0]))
with open(os.path.join(_here, "facts.json"), encoding="utf-8") as _file:
    facts = json.load(_file)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _mark(word, *rest):
    text = " ".join(str(part).replace("\n", " ") for part in rest)
    print(f"::{word} {facts['NONCE']} {text}", flush=True)


def trying(probe):
    """The probe is about to be attempted."""
    _mark("trying", probe)


def effect(probe, *detail):
    """Its forbidden effect was seen."""
    _mark("effect", probe, *detail)


def cannot(*reason):
    """The case can't be tried here."""
    _mark("cannot", *reason)
    sys.exit(77)


def syscall(number, *arguments):
    """A system call past the C library. Returns (result, errno's name or "")."""
    prepared = []
    for argument in arguments:
        if isinstance(argument, bytes):
            argument = ctypes.c_char_p(argument)
        elif isinstance(argument, int):
            argument = ctypes.c_long(argument)
        prepared.append(argument)
    ctypes.set_errno(0)
    result = _libc.syscall(ctypes.c_long(number), *prepared)
    number = ctypes.get_errno() if result == -1 else 0
    return result, errno.errorcode.get(number, str(number)) if number else ""


def in_child(action, seconds=10):
    """Runs action in a forked child, which may be killed for it. Returns its wait status."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(seconds)
            code = action() or 0
        except BaseException as problem:  # the child must not go on as its parent
            print(f"child: {problem!r}", file=sys.stderr, flush=True)
        os._exit(code)
    return os.waitpid(child, 0)[1]


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


def canary(text):
    """The canary in some bytes or text, or None."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return facts["CANARY"] if facts["CANARY"] in text else None
