"""An archive with one package. Its index vouches for it; nobody signs the index."""

import hashlib
import os
import subprocess

from probe import facts

place = f"{facts['ROOT']}/internet/www/debian"
os.makedirs(f"{place}/tree/DEBIAN")
os.makedirs(f"{place}/tree/usr/share/tiny")
control = "Package: tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: A Person <person@example.org>\nDescription: tiny\n"
with open(f"{place}/tree/DEBIAN/control", "w", encoding="ascii") as file:
    file.write(control)
with open(f"{place}/tree/usr/share/tiny/hello", "w", encoding="ascii") as file:
    file.write("hello from a package\n")
line = ["dpkg-deb", "--root-owner-group", "--build", "tree", "tiny_1.0_all.deb"]
subprocess.run(line, cwd=place, check=True, stdout=subprocess.DEVNULL)


def described(name):
    with open(f"{place}/{name}", "rb") as file:
        data = file.read()
    return hashlib.sha256(data).hexdigest(), len(data)


digest, size = described("tiny_1.0_all.deb")
with open(f"{place}/Packages", "w", encoding="ascii") as file:
    file.write(f"{control}Filename: ./tiny_1.0_all.deb\nSize: {size}\nSHA256: {digest}\n")
digest, size = described("Packages")
with open(f"{place}/Release", "w", encoding="ascii") as file:
    file.write(f"Origin: here\nSuite: stable\nSHA256:\n {digest} {size} Packages\n")
