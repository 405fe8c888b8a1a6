"""Keeps hold of a running program's file, and writes to it once nobody runs it any longer."""

import errno
import os
import signal
import time

from probe import attempt, facts

HOST = int(facts["SUPERVISOR"])


def overwrite_host():
    held = os.open(f"/proc/{HOST}/exe", os.O_PATH)
    if "supervisor" not in os.readlink(f"/proc/self/fd/{held}"):
        raise OSError("that number is another process here")
    os.kill(HOST, signal.SIGTERM)
    for _ in range(100):
        try:
            program = os.open(f"/proc/self/fd/{held}", os.O_WRONLY)
        except OSError as refusal:
            if refusal.errno != errno.ETXTBSY:
                raise
            time.sleep(0.02)
            continue
        os.write(program, b"overwritten")
        return
    raise OSError("it never ended")


def writable(process):
    """Whether the program could be written to. Busy means: yes, as soon as it ends."""
    try:
        os.close(os.open(f"/proc/{process}/exe", os.O_WRONLY))
    except OSError as refusal:
        if refusal.errno != errno.ETXTBSY:
            raise
    return f"{os.readlink(f'/proc/{process}/exe')} can be written to"


attempt("host", overwrite_host)
if facts["ARM"] != "bare":
    attempt("first", lambda: writable(1))
