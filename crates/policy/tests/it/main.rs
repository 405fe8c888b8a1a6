//! The tests of `policy` as its users see it.
#![cfg(test)]

mod actions;
mod builtin;
mod corpus;
mod errors;
mod explain;
mod layers;
mod leases;
mod narrowing;
mod oracle;
mod programs;
mod properties;
mod proposing;
mod publishing;
mod pushes;
mod reach;
mod settings;
mod support;
