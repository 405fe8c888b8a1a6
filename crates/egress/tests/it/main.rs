//! The tests of `egress` as its users see it: real sockets on loopback.
#![cfg(test)]

mod corpus;
mod differential;
mod faults;
mod intercept;
mod names;
mod random;
mod requests;
mod scene;
mod tunnels;
