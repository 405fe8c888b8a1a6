//! The tests of `policy` as its users see it.
#![cfg(test)]

mod builtin;
mod layers;
mod support;
