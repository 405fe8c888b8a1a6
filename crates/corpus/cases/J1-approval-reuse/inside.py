"""The agent: does what will be approved, and then what was not."""

import os
import shutil
import subprocess
import sys

from probe import trying

HERE = os.getcwd()
PROGRAM = f"{HERE}/.case/inside.sh"


def run(label, *args, directory=HERE, program=PROGRAM):
    if label != "approved":
        trying(label)
    labelled = {**os.environ, "LABEL": label}
    try:
        subprocess.run([program, *args], env=labelled, cwd=directory, check=False)
    except PermissionError as refusal:
        print(f"{label}: {refusal}", flush=True)


if "later" in sys.argv:
    run("another-run", "once")
    run("another-run-whole", "whole")
    sys.exit()
run("approved", "once")
run("again", "once")
run("arguments", "once", "and", "more")
run("approved", "whole")
run("approved", "whole")
run("arguments-whole", "whole ")
run("directory-whole", "whole", directory=f"{HERE}/src")
shutil.copytree(f"{HERE}/.case", f"{HERE}/case-too")
run("file-whole", "whole", program=f"{HERE}/case-too/inside.sh")
