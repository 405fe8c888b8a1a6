"""Everything that follows a link."""

import os

from probe import attempt, facts, read_canary

OUTSIDE = facts["OUTSIDE"]


def through(name, action):
    """Makes a link to a file outside and acts on it; the host sees what came of it."""
    os.symlink(f"{OUTSIDE}/{name}", f"link-{name}")
    return action(f"link-{name}")


def write(path):
    with open(path, "a", encoding="ascii") as file:
        file.write("changed\n")


attempt("read", lambda: through("secret", read_canary))
attempt("read-home", lambda: read_canary(facts["HOST_HOME"] + "/.ssh/id_canary"))
attempt("write", lambda: through("written", write))
attempt("truncate", lambda: through("truncated", lambda path: os.truncate(path, 0)))
attempt("mode", lambda: through("moded", lambda path: os.chmod(path, 0o777)))
