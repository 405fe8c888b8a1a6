//! Rows about Loop's own agent, beside other people's: all against the same model server, in turns.
//! `benches/figures.rs` of `testkit` measures them, and a tool by itself that of `sandbox`.

use anyhow::Result;

use super::figures::{self, Figure};
use super::processes::Place;
use super::{Bar, Effort, Row};

/// A figure of Loop, with its bar, and the same of the others.
macro_rules! beside_others {
    ($name:literal, $what:literal, $bar:expr, $unit:literal) => {
        [
            figure(concat!("loop-", $name), concat!($what, ": loop run"), $bar, $unit),
            figure(concat!("claude-", $name), concat!($what, ": claude -p"), Bar::Nothing, $unit),
            figure(concat!("codex-", $name), concat!($what, ": codex exec"), Bar::Nothing, $unit),
            figure(
                concat!("opencode-", $name),
                concat!($what, ": opencode run"),
                Bar::Nothing,
                $unit,
            ),
        ]
    };
}

const BESIDE_OTHERS: &[[Figure; 4]] = &[
    beside_others!("start", "start to the first request of a model", Bar::AtMost(60.0), "ms"),
    beside_others!("memory", "peak memory of a task, headless", Bar::AtMost(30.0), "MB"),
    beside_others!("request", "size of the first request", Bar::AtMost(12.0), "KB"),
    beside_others!("size", "size of what is installed", Bar::AtMost(30.0), "MB"),
];

const TOOLS: &[Figure] = &[
    figure(
        "tool-bash",
        "a tool of the agent in a warm sandbox: a line of shell",
        Bar::AtMost(5.0),
        "ms",
    ),
    figure("tool-read", "a tool of the agent in a warm sandbox: a file", Bar::AtMost(5.0), "ms"),
];

const SESSION: &[Figure] = &[
    figure("session-cost", "a turn's own cost, late in a session of 200", Bar::Nothing, "ms"),
    figure("session-flat", "a turn's own cost, last quarter against first", Bar::AtMost(1.2), "×"),
    figure(
        "session-memory",
        "memory of a session, last quarter against first",
        Bar::AtMost(1.1),
        "×",
    ),
];

const fn figure(name: &'static str, what: &'static str, bar: Bar, unit: &'static str) -> Figure {
    Figure { name, what, bar, unit }
}

/// Measures every row of this kind.
pub(super) fn measure(place: &Place, effort: Effort) -> Result<Vec<Row>> {
    let mut rows = figures::read(&mut figures::bench(&["sandbox"]), TOOLS, effort)?;
    let mut clients = figures::bench(&["testkit"]);
    clients.env("LOOP_BIN", place.loop_program());
    let wanted = [BESIDE_OTHERS.as_flattened(), SESSION].concat();
    rows.extend(figures::read(&mut clients, &wanted, effort)?);
    Ok(rows)
}
