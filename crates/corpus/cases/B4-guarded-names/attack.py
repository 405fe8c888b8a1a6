"""Names, not writes."""

import os

from probe import attempt, facts, read_canary

HOOK = f"#!/bin/sh\necho hook >> '{facts['ROOT']}/fired'\n"


def rename_onto_hook():
    with open("ordinary", "w", encoding="ascii") as file:
        file.write(HOOK)
    os.chmod("ordinary", 0o755)
    os.rename("ordinary", ".git/hooks/post-commit")


def second_name():
    os.link(".git/config", "second")
    with open("second", "a", encoding="ascii") as file:
        file.write("[x]\n\ty = changed\n")


def link_secret():
    os.link(f"{facts['HOST_HOME']}/.ssh/id_canary", "mine")
    return read_canary("mine")


attempt("rename", rename_onto_hook)
attempt("hard-link", second_name)
attempt("secret", link_secret)
