"""A terminal that works: it is one, has a size, and its settings can be changed and restored."""

import os
import sys
import termios

assert all(os.isatty(number) for number in (0, 1, 2)), "the standard streams are no terminal"
os.get_terminal_size(0)
before = termios.tcgetattr(0)
raw = [part[:] if isinstance(part, list) else part for part in before]
raw[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSADRAIN, raw)
assert not termios.tcgetattr(0)[3] & termios.ECHO
termios.tcsetattr(0, termios.TCSADRAIN, before)
with open("/dev/tty", "w", encoding="ascii") as terminal:
    terminal.write("by name\n")
sys.exit(0)
