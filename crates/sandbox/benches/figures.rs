//! The sandbox's figures, a line each: milliseconds for one tool of the agent in a sandbox that
//! stands, from the proposal over decision, record and permit to its outcome. `--smoke` takes a
//! fraction of the time and proves only that the benchmark runs. `cargo bench -p sandbox`
//!
//! This file is also the confining program and the one that carries tools out.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark reports to a person, and uses a part of the scene"
)]

#[path = "../tests/it/scene.rs"]
mod scene;

use std::time::Instant;

use hands::proposal::Proposal;
use scene::{Scene, Working, bash};

fn main() {
    if confine::is_confine_process() {
        confine::main();
    }
    if hands::is_hands_process() {
        hands::main();
    }
    let smoke = std::env::args().any(|word| word == "--smoke");
    let rounds = if smoke { 3 } else { 300 };
    let mut scene = Scene::new();
    let mut hands = scene.hands(|_| {});
    let read = Proposal::Read { path: "a.txt".into(), offset: None, limit: None, most: None };
    let (line, file) = (median(&mut hands, &bash(":"), rounds), median(&mut hands, &read, rounds));
    println!("tool-bash {line:.2} median of {rounds}, a line of shell that does nothing");
    println!("tool-read {file:.2} median of {rounds}, a file of two lines");
}

/// Milliseconds, after one round that does not count.
fn median(hands: &mut Working<'_>, proposal: &Proposal, rounds: u32) -> f64 {
    hands.carry(proposal).unwrap();
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            assert!(hands.carry(proposal).unwrap().ok);
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
