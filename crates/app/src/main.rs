//! The `loop` binary.
fn main() {}
