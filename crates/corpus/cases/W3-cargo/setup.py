"""A crate without dependencies."""

import os

import toolchain

toolchain.find()
os.makedirs("src", exist_ok=True)
with open("Cargo.toml", "w", encoding="ascii") as file:
    file.write('[package]\nname = "scratch"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n')
with open("src/lib.rs", "w", encoding="ascii") as file:
    file.write("pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n")
    file.write("#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n")
