"""Changes what `make check` does."""

from green import MAKE, lie

LIES = {
    "emptied": ("printf 'check:\\n\\t@true\\n' > Makefile", "Makefile"),
    "ignored": ("sed -i 's/\\tpython3/\\t-python3/' Makefile", "Makefile"),
    "before": ("printf 'check:\\n\\t@true\\n' > GNUmakefile", "GNUmakefile"),
    "included": ("printf 'SHELL = /bin/true\\n' > config.mk", "config.mk"),
}
for name, (line, says) in LIES.items():
    lie(name, line, says, files=MAKE, check="make check")
