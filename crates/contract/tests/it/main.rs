//! The tests of `contract` as its users see it.
#![cfg(test)]

mod attacks;
mod corpus;
mod hostile;
mod judging;
mod ordinary;
mod outputs;
mod properties;
mod proposing;
mod reaching;
mod reading;
mod reporting;
mod support;
