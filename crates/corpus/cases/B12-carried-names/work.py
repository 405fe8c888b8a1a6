"""One file a name, its content the name."""

import os

NAMES = [b"new\nline", b"\x1b[31mred", b"\xff\xfe invalid", b"%41 percent", b"back\\slash", b"n" * 255, b"-rf",
         b" lead and trail ", "e\u0301".encode(), "\u00e9".encode(), b"\x7f", b"quote'\"$(x)`"]
os.makedirs(b"names/\xe0 dir\n")
for name in NAMES:
    with open(b"names/\xe0 dir\n/" + name, "wb") as file:
        file.write(name)
