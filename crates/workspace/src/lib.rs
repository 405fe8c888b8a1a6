//! The overlay read as data: change set, diff, apply, undo.
//!
//! Everything that a run wrote is hostile: this crate looks at it through descriptors, never
//! follows a link, and never lets a name reach beyond the directory that it was given.

mod apply;
mod carry;
mod change;
mod content;
mod diff;
mod failpoint;
mod flags;
mod fuzz;
mod ignore;
mod lay;
mod lines;
mod links;
mod node;
mod protect;
mod read;
mod rename;
mod root;
mod tree;

pub use apply::{Applied, ApplyError, ApplyPlan, Left, Recovered, SelectError, Selection};
pub use apply::{Undone, Why, apply, discard, plan, recover, state, undo};
pub use carry::{CarryError, carry_over};
pub use change::{Change, ChangeSet, ChangeSetError, Counts, Flag, Kind, Stat};
pub use diff::{
    Body, DiffOptions, FileDiff, Hunk, Line, LineKind, stat_table, unified_diff, unified_text,
};
#[doc(hidden)]
pub use fuzz::fuzz_changes;
pub use lay::{ContentFiles, Contents, Laid, LayError, UpperContents, lay};
pub use node::{LinkTarget, Mode, Node, Special};
pub use protect::Protected;
pub use read::{Caps, ChangeError, Cost, Side, Touched};
pub use read::{changed_among, read_changes, read_changes_within};

pub(crate) use root::{WorkspaceRoot, shown};
