"""Threads and processes work without clone3 and without namespaces."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import threading

results = []
threads = [threading.Thread(target=results.append, args=(n,)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(results) == list(range(8))
assert subprocess.run(["true"], check=True).returncode == 0
assert os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1] == 0
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert sum(pool.map(abs, range(-4, 0))) == 10
