//! A permit for one kind of action where another is needed.

use broker::Permit;
use policy::{Apply, Discard};

fn effect(_: &Permit<Apply>) {}

fn misuse(permit: &Permit<Discard>) {
    effect(permit);
}

fn main() {}
