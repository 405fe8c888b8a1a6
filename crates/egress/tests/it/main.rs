//! The tests of `egress` as its users see it: real sockets on loopback.
#![cfg(test)]

mod faults;
mod intercept;
mod names;
mod requests;
mod scene;
mod tunnels;
