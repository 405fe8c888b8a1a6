//! Which action a change is, and what the authority says about it.

use std::path::Path;

use names::Digest;
use policy::{FileAccess, Open, Outcome, Verdict};

use crate::gate::answer::Denied;
use crate::gate::serve::Gate;

/// How a guarded file can be changed after all.
const INSTEAD: &str = "what will be written can't be shown this way: write a new file and rename it \
                       over this one, and a person is asked";

/// Writing to the file at `path`.
pub(in crate::gate) fn write(path: &Path, content: Option<Digest>) -> Open {
    Open { path: path.to_owned(), access: FileAccess::Write, content }
}

/// What the authority says about writing to `path`.
pub(in crate::gate) fn verdict(gate: &Gate, path: &Path) -> Outcome {
    decided(gate, path).outcome
}

/// The same, with its causes.
pub(in crate::gate) fn decided(gate: &Gate, path: &Path) -> Verdict {
    gate.broker.authority().decide(&write(path, None).into())
}

/// Lets a change go on that nobody needs to be asked about.
///
/// # Errors
/// A file that nobody may write, or about which a person could only be asked if it were shown.
pub(in crate::gate) fn allow(gate: &Gate, path: &Path) -> Result<(), Denied> {
    match verdict(gate, path) {
        Outcome::Allow => Ok(()),
        Outcome::Ask => Err(outright(path, INSTEAD)),
        Outcome::Deny => Err(outright(path, &decided(gate, path).reason)),
    }
}

/// A refusal that no answer could change.
pub(in crate::gate) fn outright(path: &Path, why: &str) -> Denied {
    Denied::Outright(Box::new(write(path, None).into()), why.to_owned())
}
