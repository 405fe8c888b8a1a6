"""A registry with one crate, and a crate that depends on it."""

import hashlib
import io
import json
import os
import tarfile

import toolchain
from probe import facts

toolchain.find()
HOST = "https://registry.example.com"
www = f"{facts['ROOT']}/internet/www"
FILES = {
    "Cargo.toml": '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n',
    "src/lib.rs": 'pub fn greet() -> &\'static str {\n    "hello from a crate"\n}\n',
}
crate = io.BytesIO()
with tarfile.open(fileobj=crate, mode="w:gz") as archive:
    for name, text in FILES.items():
        entry = tarfile.TarInfo(f"tiny-1.0.0/{name}")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
version = {"name": "tiny", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False}
version["cksum"] = hashlib.sha256(crate.getvalue()).hexdigest()
SERVED = {
    "index/config.json": json.dumps({"dl": f"{HOST}/crates"}).encode(),
    "index/ti/ny/tiny": json.dumps(version).encode(),
    "crates/tiny/1.0.0/download": crate.getvalue(),
}
OWN = {
    "Cargo.toml": '[package]\nname = "scratch"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n\n'
    '[dependencies]\ntiny = { version = "1", registry = "own" }\n',
    ".cargo/config.toml": f'[registries.own]\nindex = "sparse+{HOST}/index/"\n',
    "src/main.rs": 'fn main() {\n    println!("{}", tiny::greet());\n}\n',
}
for path, data in SERVED.items():
    path = f"{www}/{path}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
for path, text in OWN.items():
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
