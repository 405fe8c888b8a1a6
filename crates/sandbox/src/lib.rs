//! Authority in, plan out; then a sandbox, its commands, and what they said.
//!
//! The life of a sandbox is three types: a [`Plan`] is data, computed from an authority and what
//! the host looks like; [`Sandbox`] is what stands after the plan was carried out; [`Finished`] is
//! what is left when a command has ended. The parts that touch the host are [`launch`](Sandbox),
//! [`cgroup`] and [`relay`]; planning is pure.
//!
//! It must never interpret what comes out of the sandbox as anything but bytes, exit codes and the
//! frames of the exec protocol.

mod attend;
mod cgroup;
mod disk;
mod door;
mod environment;
mod gate;
mod hands;
mod host;
mod launch;
mod layout;
mod plan;
mod relay;
mod remove;
mod terminal;
mod toolchains;

pub use attend::{Attendant, Courtesy, Heard, Place, Prompt, Turn, Watch, attend};
pub use confine::plan::{Network, Plan};
pub use confine::report::{Enforcement, Facility, Failure, Proof};
pub use disk::DiskWatch;
pub use door::Door;
pub use environment::{Environment, environment};
pub use gate::{Differ, Mediation};
pub use hands::{Hands, HandsError, HandsRequest, hands_action, hands_file, tool_action};
pub use host::Host;
pub use launch::{Helper, LaunchError, Listeners, Sandbox};
pub use layout::Layout;
pub use plan::{PlanError, Subject, id_inside, plan, user_inside};
pub use relay::{CommandRequest, ExecError, Finished, Limit, Seat, Signals, Streams, run_at};
pub use remove::remove_tree;
pub use toolchains::Shown;

/// The exec protocol, for the process that keeps a warm sandbox.
pub use confine::protocol;

/// Limits and how they are held, for the receipt and for `loop doctor`.
pub mod limits {
    pub use crate::cgroup::{Cgroup, CgroupError, Held, available};
}
