"""Ordinary kernel services work: memory, timers, events, scheduling, randomness."""

import mmap
import os
import resource
import select
import time

mmap.mmap(-1, 1 << 20).write(b"x" * (1 << 20))
memory = os.memfd_create("neighbour", os.MFD_ALLOW_SEALING)
os.write(memory, b"x")
events = os.eventfd(1) if hasattr(os, "eventfd") else None
poller = select.epoll()
if events is not None:
    poller.register(events, select.EPOLLIN)
    assert poller.poll(1)
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.nice(1)
resource.getrlimit(resource.RLIMIT_NOFILE)
time.clock_gettime(time.CLOCK_BOOTTIME)
time.sleep(0.001)
assert len(os.getrandom(16)) == 16
