//! An action of one's own, which no authority was asked about.

use broker::Act;
use policy::{Action, Kind};

#[derive(Clone)]
struct Anything;

impl From<Anything> for Action {
    fn from(_: Anything) -> Self {
        todo!()
    }
}

impl Act for Anything {
    const KIND: Kind = Kind::Exec;
}

fn main() {}
