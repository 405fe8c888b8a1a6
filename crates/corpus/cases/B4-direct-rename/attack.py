"""Every kind of rename that ends in a guarded name."""

import ctypes
import os

from probe import attempt, syscall

RENAMEAT2, HERE, EXCHANGE = 316, -100, 2


def write(path, text="changed\n"):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def rename(source, target):
    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
    os.rename(source, target)


def exchange():
    names = [ctypes.c_char_p(name.encode()) for name in (write("ordinary-2"), "two/.envrc")]
    result, error = syscall(RENAMEAT2, HERE, names[0], HERE, names[1], EXCHANGE)
    if result != 0:
        raise OSError(error)


def around():
    os.symlink(".git/hooks", "around")
    rename(write("ordinary-3"), "around/post-merge")


def directory(source, inside, target):
    write(f"{source}/{inside}")
    rename(source, target)


def link():
    write("elsewhere/fish/config.fish")
    os.symlink("elsewhere", "plain-link")
    rename("plain-link", ".config")


def swap_links():
    """A link takes the place of a directory that a guarded name starts with."""
    write("elsewhere/workflows/x.yml")
    os.symlink("../elsewhere", "second-link")
    os.makedirs("linked/.github")
    names = [ctypes.c_char_p(name) for name in (b"second-link", b"linked/.github")]
    result, error = syscall(RENAMEAT2, HERE, names[0], HERE, names[1], EXCHANGE)
    if result != 0:
        raise OSError(error)


attempt("hook", lambda: rename(write("hook"), ".git/hooks/post-commit"))
attempt("new", lambda: rename(write("ordinary-0"), ".envrc"))
attempt("over", lambda: rename(write("ordinary-1"), "one/.envrc"))
attempt("exchange", exchange)
attempt("away", lambda: rename("three/.envrc", "three/moved"))
attempt("around", around)
attempt("directory", lambda: directory("settings", "tasks.json", ".vscode"))
attempt("deeper", lambda: directory("workflows", "x.yml", "deeper/.github/workflows"))
attempt("from-one-start", lambda: directory(".yarn", "workflows/x.yml", ".github"))
attempt("into-git", lambda: directory("module", "hooks/post-checkout", ".git/modules/module"))
attempt("same-name", lambda: directory("kept/same", "config", ".git/modules/same"))
attempt("alternates", lambda: directory("info", "alternates", ".git/objects/info"))
attempt("out-of-git", lambda: directory(".git/refs/heads/x", ".envrc", "out"))
attempt("link", link)
attempt("swapped-link", swap_links)
