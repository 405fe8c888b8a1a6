//! A second permit from the first.

use broker::Permit;
use policy::Apply;

fn both(permit: Permit<Apply>) -> (Permit<Apply>, Permit<Apply>) {
    (permit.clone(), permit)
}

fn main() {}
