//! What a receipt is judged by, read from files: keys, a trust file, a tree. The judgement itself is
//! the `ledger`'s, and needs none of them to be a file.
//!
//! `loop-verify` and `loop receipt verify` read the same with this. It must never hold a network, a
//! sandbox, or a rule of its own about what makes a receipt good.

mod content;
mod files;
mod tree;
mod trust_file;

pub use content::Content;
pub use files::{FileError, ReceiptFile, read, read_key, read_trust_file, together};
pub use tree::Directory;
pub use trust_file::{Fault, Faults, LONGEST, read_trust};
