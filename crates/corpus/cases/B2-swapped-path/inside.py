"""The agent: asks for a rename, and swaps something as soon as the person was shown it."""

import os
import sys
import threading
import time

from probe import facts

PROBE = sys.argv[1]


def rename():
    try:
        os.rename("next", f"{PROBE}/.envrc")
    except OSError as refusal:
        print(f"{PROBE}: {refusal}", flush=True)


def swap_directory(target):
    os.rename(PROBE, f"{PROBE}-before")
    os.symlink(target, PROBE)


def swap_for_new():
    os.rename(PROBE, f"{PROBE}-before")
    os.mkdir(PROBE)


def swap_file():
    os.unlink("next")
    os.symlink("other", "next")


def swap_content():
    with open("next", "w", encoding="ascii") as file:
        file.write("not shown\n")


swaps = {
    "directory-outside": lambda: swap_directory(f"{facts['OUTSIDE']}/victim"),
    "directory-inside": lambda: swap_directory("neighbour"),
    "directory-new": swap_for_new,
    "file": swap_file,
    "content": swap_content,
}
for name, text in (("next", "shown\n"), ("other", "not shown\n")):
    with open(name, "w", encoding="ascii") as file:
        file.write(text)
asking = threading.Thread(target=rename)
if facts["ARM"] != "bare":
    asking.start()
while not os.path.exists(f".case/shown-{PROBE}"):
    time.sleep(0.02)
swaps[PROBE]()
with open(f".case/swapped-{PROBE}", "w", encoding="ascii"):
    pass
if facts["ARM"] != "bare":
    asking.join()
