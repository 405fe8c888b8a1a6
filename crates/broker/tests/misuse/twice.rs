//! A permit completed twice.

use broker::{Broker, Permit};
use policy::Apply;

fn complete(broker: &Broker, permit: Permit<Apply>) {
    let _ = broker.complete(permit, &1);
    let _ = broker.complete(permit, &2);
}

fn main() {}
