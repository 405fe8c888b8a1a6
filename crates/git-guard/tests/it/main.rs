//! The tests of `git-guard` as its users see it.
#![cfg(test)]

mod corpus;
mod deciding;
