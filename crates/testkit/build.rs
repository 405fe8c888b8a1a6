//! Compiles the tasks in again whenever one of them changes.

#![allow(clippy::print_stdout)] // this is how a build script speaks to cargo

fn main() {
    println!("cargo::rerun-if-changed=tasks");
}
