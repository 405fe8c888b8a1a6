//! A permit made without the broker.

use broker::Permit;
use ledger::{Ledger, Recorded};
use policy::Discard;

fn literal(act: Discard, record: Recorded, ledger: Ledger) -> Permit<Discard> {
    Permit { act, record, ledger }
}

fn main() {}
