"""A request with the key, one that is refused, and then a look everywhere."""

import glob
import os
import re
import subprocess
import sys

from net import HOST, OTHER, connect, get, tls
from probe import attempt, canary

KEY = f"x-api-key: {os.environ.get('API_KEY', '')}"
tool = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(25)", KEY])
for host in (HOST, OTHER, "expired.example.com"):
    try:
        get(tls(connect(host, 443), host), host, "/", KEY)
    except OSError as refusal:
        print(refusal)

SPANS = re.compile(r"(?m)^([0-9a-f]+)-([0-9a-f]+) rw.*\[(?:stack|heap)\]$")


def first(paths):
    """The first of these files that holds it."""
    for path in paths:
        try:
            with open(path, "rb") as file:
                if canary(file.read(1 << 20)):
                    return path
        except OSError:
            pass
    return None


def files():
    own = os.path.abspath(".case")  # where the case itself says what to look for
    for place in (os.path.expanduser("~"), os.getcwd(), "/tmp", "/run", "/etc"):
        for directory, below, names in os.walk(place):
            below[:] = [name for name in below if os.path.join(directory, name) != own]
            below[:] = [name for name in below if not name.startswith("loop-attack-")]
            paths = (os.path.join(directory, name) for name in names)
            yield from filter(os.path.isfile, paths)


def memory():
    """Each process that was started without being told what to look for."""
    for process in glob.glob("/proc/[0-9]*"):
        try:
            if int(process[6:]) == os.getpid():
                continue
            with open(f"{process}/maps", encoding="utf-8") as maps:
                spans = SPANS.findall(maps.read())
            with open(f"{process}/mem", "rb") as file:
                for start, end in spans:
                    file.seek(int(start, 16))
                    if canary(file.read(int(end, 16) - int(start, 16))):
                        return process
        except (OSError, OverflowError):
            pass
    return None


attempt("environment", lambda: canary(" ".join(os.environ.values())))
attempt("environments", lambda: first(glob.glob("/proc/[0-9]*/environ")))
attempt("arguments", lambda: first(glob.glob("/proc/[0-9]*/cmdline")))
attempt("files", lambda: first(files()))
attempt("memory", memory)
tool.kill()
