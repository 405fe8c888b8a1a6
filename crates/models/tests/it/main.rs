//! Every provider against a server that speaks its format, over every fault.
#![cfg(test)]

mod bodies;
mod cancel;
mod corpus;
mod faults;
mod keys;
mod proxy;
mod rounds;
mod support;
mod tls;
