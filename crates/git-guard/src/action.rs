//! Commands of a push → what is asked about them. Pure.

use names::{Host, ObjectId};
use policy::{Authority, GitPush, Outcome, RefChange, RefMove};

use crate::wire::push::Command;

/// How a reference of a remote would move, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Footing {
    /// It is there, and this run put it where it is: wherever it moves, nothing of others is lost.
    Own,
    /// Its new place is known to follow from its old one.
    Forward,
    /// Nobody knows, so it counts as moved by force.
    Unknown,
}

/// What happens to a reference.
#[must_use]
pub(crate) fn change(command: &Command, footing: Footing) -> RefChange {
    match (command.old.is_null(), command.new.is_null(), footing) {
        (_, true, _) => RefChange::Delete,
        (true, false, _) => RefChange::Create,
        (false, false, Footing::Own | Footing::Forward) => RefChange::Update,
        (false, false, Footing::Unknown) => RefChange::Force,
    }
}

/// A command as the authority decides about it, bound to its objects.
#[must_use]
pub(crate) fn action(
    host: &Host,
    repository: &str,
    command: &Command,
    change: RefChange,
) -> GitPush {
    let (old, new): (ObjectId, ObjectId) = (command.old.clone(), command.new.clone());
    GitPush {
        host: host.clone(),
        repository: repository.to_owned(),
        reference: command.reference.clone(),
        change,
        moves: Some(RefMove { old, new }),
    }
}

/// Whether the objects of a push have to be looked at before it is decided about.
#[must_use]
pub(crate) fn needs_objects(authority: &Authority, push: &GitPush, footing: Footing) -> bool {
    let outcome = |change| authority.decide(&GitPush { change, ..push.clone() }.into()).outcome;
    let decided = outcome(push.change);
    let may_be_update = push.change == RefChange::Force && footing == Footing::Unknown;
    let as_update = may_be_update.then(|| outcome(RefChange::Update));
    let differs = as_update.is_some_and(|update| update != decided);
    let is_asked = decided == Outcome::Ask || as_update == Some(Outcome::Ask);
    (is_asked && push.change != RefChange::Delete) || differs
}

/// Whether it is denied whatever its objects are.
#[must_use]
pub(crate) fn is_denied(authority: &Authority, push: &GitPush) -> bool {
    let denies = |change| {
        authority.decide(&GitPush { change, ..push.clone() }.into()).outcome == Outcome::Deny
    };
    denies(push.change) && (push.change != RefChange::Force || denies(RefChange::Update))
}
