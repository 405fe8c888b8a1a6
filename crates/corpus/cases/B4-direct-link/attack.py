"""Hard and symbolic links, from and to guarded names."""

import os

from probe import attempt


def write(path, text="changed\n", mode="w"):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, mode, encoding="ascii") as file:
        file.write(text)
    return path


def second_name():
    os.link("one/.envrc", "second")
    write("second", mode="a")


def through_link():
    os.symlink("two/.envrc", "way")
    os.link("way", "third", follow_symlinks=True)
    write("third", mode="a")


def by_descriptor():
    held = os.open("three/.envrc", os.O_RDONLY)
    os.link(f"/proc/self/fd/{held}", "fourth", follow_symlinks=True)
    write("fourth", mode="a")


def written_through():
    os.symlink("four/.envrc", "pointer")
    write("pointer", mode="a")


def linked_link():
    """A second name for a link, where guarded names start."""
    write("elsewhere/workflows/x.yml")
    os.symlink("elsewhere", "plain")
    os.link("plain", ".github", follow_symlinks=False)


def symbolic(target, at):
    os.makedirs(os.path.dirname(at), exist_ok=True)
    os.symlink(target, at)


attempt("second-name", second_name)
attempt("through-link", through_link)
attempt("descriptor", by_descriptor)
attempt("written-through", written_through)
attempt("hook", lambda: os.link(write("hook"), ".git/hooks/post-commit"))
attempt("new", lambda: os.link(write("ordinary"), ".envrc"))
attempt("linked-link", linked_link)
write("module/hooks/post-checkout")
attempt("symbolic", lambda: symbolic("../elsewhere", "deep/.github"))
attempt("symbolic-file", lambda: symbolic("../ordinary", "deep/.envrc"))
attempt("symbolic-in-git", lambda: symbolic("../../module", ".git/modules/module"))
