//! The agent's figures beside those of Claude Code, Codex and opencode, a line each, against the
//! model server, in one run: how long until the model is asked, how much, how much memory at most,
//! how much is installed; and Loop's own agent through a long session. `--smoke` takes a fraction of
//! the time and proves only that the benchmark runs. `LOOP_BIN=… cargo bench -p testkit`
//!
//! `NAME FIGURE HOW IT WAS MADE`; `NAME - WHY` where a client can't be run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark starts programs, and reports to a person"
)]

mod client;
mod memory;
mod session;

use client::{Client, Once};

/// How much is measured.
struct Effort {
    /// Rounds that don't count: the first is where a client says hello for the first time.
    warm: usize,
    /// Rounds in which each client has a turn.
    rounds: usize,
    /// Sessions, and the steps of each.
    sessions: usize,
    steps: usize,
}

const FULL: Effort = Effort { warm: 1, rounds: 9, sessions: 3, steps: 200 };
const SMOKE: Effort = Effort { warm: 0, rounds: 1, sessions: 1, steps: 20 };

fn main() {
    let effort = if std::env::args().any(|word| word == "--smoke") { SMOKE } else { FULL };
    let mut clients: Vec<_> = Client::all().into_iter().map(Measured::new).collect();
    for round in 0..effort.warm + effort.rounds {
        clients.iter_mut().for_each(|client| client.take_turn(round >= effort.warm));
    }
    clients.iter().for_each(Measured::print);
    session::measure(effort.sessions, effort.steps);
}

/// A client and what was measured of it.
struct Measured {
    client: Client,
    turns: Vec<Once>,
    /// Why there is nothing more to measure.
    fault: Option<String>,
}

impl Measured {
    fn new(client: Client) -> Self {
        Self { client, turns: Vec::new(), fault: None }
    }

    fn take_turn(&mut self, counts: bool) {
        if self.fault.is_some() {
            return;
        }
        match self.client.once() {
            Ok(once) if counts => self.turns.push(once),
            Ok(_) => {}
            Err(why) => self.fault = Some(why),
        }
    }

    fn print(&self) {
        let name = self.client.name();
        self.line("start", &|once| once.start_ms, "from its start to the request");
        self.line("memory", &|once| once.peak_mb, "the most that its processes had together");
        self.line("request", &|once| once.request_kb, "the first that offers tools");
        match self.client.installed() {
            Ok((size, what)) => println!("{name}-size {size:.1} {what}"),
            Err(why) => println!("{name}-size - {why}"),
        }
    }

    fn line(&self, what: &str, figure: &dyn Fn(&Once) -> f64, how: &str) {
        let name = self.client.name();
        match &self.fault {
            Some(why) => println!("{name}-{what} - {why}"),
            None => {
                let rounds = self.turns.len();
                let figure = median(self.turns.iter().map(figure).collect());
                println!("{name}-{what} {figure:.1} median of {rounds}, {how}");
            }
        }
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
