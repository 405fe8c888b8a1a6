"""Finds a toolchain: on the system's path, or in the home of whoever runs the corpus."""

import os
import pwd
import shutil
import subprocess
import sys

from probe import cannot, facts

home = pwd.getpwuid(os.getuid()).pw_dir
found = shutil.which("cargo")
if not found and os.access(f"{home}/.cargo/bin/rustc", os.X_OK):
    rustc = [f"{home}/.cargo/bin/rustc", "--print", "sysroot"]
    real = {"HOME": home, "PATH": os.environ["PATH"]}
    asked = subprocess.run(rustc, env=real, cwd="/", capture_output=True, text=True, check=False)
    found = f"{asked.stdout.strip()}/bin/cargo" if asked.returncode == 0 else None
if not found:
    cannot("cargo is not here")
toolchain = os.path.dirname(os.path.dirname(os.path.realpath(found)))
print(f"::fact {facts['NONCE']} CARGO {found}")
print(f"::fact {facts['NONCE']} TOOLCHAIN {toolchain}")
os.makedirs("src", exist_ok=True)
with open("Cargo.toml", "w", encoding="ascii") as file:
    file.write('[package]\nname = "scratch"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n')
with open("src/lib.rs", "w", encoding="ascii") as file:
    file.write("pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n")
    file.write("#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n")
sys.exit(0)
