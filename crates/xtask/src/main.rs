//! Developer entry point.
fn main() {}
