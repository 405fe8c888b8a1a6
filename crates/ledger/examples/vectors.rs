//! Writes the test vectors: `cargo run -p ledger --example vectors`. A test compares them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::needless_pass_by_value,
    reason = "a generator of fixed files fails by panicking"
)]

#[path = "../tests/it/cases.rs"]
mod cases;
#[path = "../tests/it/forge.rs"]
mod forge;

fn main() -> std::io::Result<()> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    std::fs::create_dir_all(&directory)?;
    for old in std::fs::read_dir(&directory)? {
        std::fs::remove_file(old?.path())?;
    }
    for (name, bytes) in cases::files() {
        std::fs::write(directory.join(name), bytes)?;
    }
    Ok(())
}
