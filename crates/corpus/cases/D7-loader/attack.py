"""Each way ends with the program's own exit code, if the program ran."""

import os
import shutil
import subprocess
import sys

from probe import SEEN, effect, trying

LOADER = "/lib64/ld-linux-x86-64.so.2"
END = ["-c", f"exit {SEEN}"]


def write(name, text):
    with open(name, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(name, 0o755)
    return f"./{name}"


def run(probe, *line):
    trying(probe)
    try:
        ended = subprocess.run(line, check=False).returncode
    except OSError as refusal:
        print(f"{probe}: {refusal}", flush=True)
        return
    if ended == SEEN:
        effect(probe, "it ran")


if not os.path.exists(LOADER):
    sys.exit(f"{LOADER} is not here")
tool = os.path.abspath("tool")
os.symlink("tool", "innocent")
shutil.copy(LOADER, "ld-own.so")
run("itself", "./tool", *END)
run("loader", LOADER, "./tool", *END)
run("loader-named", LOADER, "--argv0", "sh", tool, *END)
run("loader-path", LOADER, "--library-path", "/nowhere:/lib/x86_64-linux-gnu", tool, *END)
run("loader-twice", LOADER, LOADER, tool, *END)
run("loader-copy", "./ld-own.so", tool, *END)
run("loader-link", LOADER, "./innocent", *END)
run("link", "./innocent", *END)
run("script", write("script", f"#!{tool}\nexit {SEEN}\n"))
run("script-of-script", write("outer", f"#!{os.path.abspath('script')}\n"))
run("script-of-loader", write("through", f"#!{LOADER} {tool}\nexit {SEEN}\n"))
run("env", "env", "--", "./tool", *END)
