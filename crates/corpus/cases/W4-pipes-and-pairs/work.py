"""Processes that talk to each other."""

import multiprocessing
import multiprocessing.shared_memory
import os
import socket
import subprocess

assert subprocess.run("echo a | tr a b | cat", shell=True, capture_output=True).stdout == b"b\n"
first, second = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:
    second.send(b"from the child")
    os._exit(0)
assert first.recv(100) == b"from the child"
os.wait()
context = multiprocessing.get_context("fork")
with context.Pool(4) as pool:
    assert pool.map(abs, range(-50, 0)) == list(range(50, 0, -1))
queue = context.Queue()
process = context.Process(target=queue.put, args=("queued",))
process.start()
assert queue.get(timeout=10) == "queued"
process.join()
shared = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
try:
    shared.buf[:5] = b"hello"
    again = multiprocessing.shared_memory.SharedMemory(shared.name)
    assert bytes(again.buf[:5]) == b"hello"
    again.close()
finally:
    shared.close()
    shared.unlink()
