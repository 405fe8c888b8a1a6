//! Compiles the cases in again whenever one of them changes.

#![allow(clippy::print_stdout)] // this is how a build script speaks to cargo

fn main() {
    for folder in ["cases", "lib"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
