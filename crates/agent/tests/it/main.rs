//! Conversations over a scripted model and hands that only remember.
#![cfg(test)]

mod anything;
mod budgets;
mod compaction;
mod interrupts;
mod scripts;
mod sessions;
mod turns;
mod wellformed;
mod world;
