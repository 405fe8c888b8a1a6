//! A permit made by calling what only the broker calls.

use broker::Permit;
use ledger::{Ledger, Recorded};
use policy::Discard;

fn constructor(act: Discard, record: Recorded, ledger: Ledger) -> Permit<Discard> {
    Permit::mint(act, record, ledger)
}

fn main() {}
