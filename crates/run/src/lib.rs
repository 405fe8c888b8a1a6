//! The story of one run: prepare, confine, drive, seal. And what can be done with it afterwards.
//!
//! [`Host`] is Loop on this machine: it implements [`api::Engine`], a method a command, each of
//! which is told by a module here. This crate wires the others together; it serves no HTTP, speaks
//! no SQL, and writes no text for people beyond the words of a [`api::Problem`].

mod host;
mod project;
mod settings;
mod store;

mod authority;
mod configuration;
pub mod contract;
mod problem;

mod approvals;
mod lease;
mod login;
mod network;
mod preset;
mod publish;
mod pushes;

mod carried;
mod entered;
mod evidence;
mod reached;
mod records;
mod state;
mod story;

mod checks;
mod exec;
mod grounds;
mod prepare;
mod seal;
mod unchecked;
mod verify;
mod work;

mod keeper;
mod session;

mod branch;
mod change_view;
mod changes;
mod doctor;
mod init;
mod inspect;
mod keys;
mod policy_commands;
mod proposal;
mod rescue;
mod trust;
mod witness;

#[cfg(test)]
mod fixture;

pub use host::Host;
pub use project::Project;
pub use settings::Settings;
pub use store::{RunDirectory, RunLock, Start, Store, StoreError};
