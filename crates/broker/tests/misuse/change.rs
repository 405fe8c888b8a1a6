//! An act that is changed after it was permitted.

use broker::Permit;
use policy::Apply;

fn change(permit: &mut Permit<Apply>) {
    permit.act().flagged.push("everything".to_owned());
}

fn main() {}
