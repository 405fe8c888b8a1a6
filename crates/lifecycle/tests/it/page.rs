//! `docs/states.md` is a table for people; this holds it against the one of the code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lifecycle::{Dropped, Event, Phase, State, Waits};

/// A state as the page names it.
fn named(state: State) -> String {
    let of = match state {
        State::Waiting(Phase::Work) => "work",
        State::Waiting(Phase::Checks) => "checks",
        State::Applying(waits) | State::HalfApplied(waits) => match waits {
            Waits::Ready => "ready",
            Waits::Undone => "undone",
        },
        State::Discarding(dropped) | State::HalfDiscarded(dropped) => match dropped {
            Dropped::NeverStood => "never stood",
            Dropped::Interrupted => "interrupted",
            Dropped::Ready => "ready",
            Dropped::Undone => "undone",
        },
        _ => return state.word().to_owned(),
    };
    format!("{} ({of})", state.word())
}

/// What can happen to a state, as the page tells it: what leaves it where it is comes last.
fn told(state: State) -> String {
    let legal = || Event::ALL.into_iter().filter_map(|it| Some((it, state.after(it).ok()?)));
    let moves = legal().filter(|(_, next)| *next != state);
    let mut told: Vec<_> =
        moves.map(|(event, next)| format!("{event} → **{}**", named(next))).collect();
    let stays: Vec<_> =
        legal().filter(|(_, next)| *next == state).map(|(event, _)| event.word()).collect();
    if !stays.is_empty() {
        told.push(format!("stays: {}", stays.join(", ")));
    }
    if told.is_empty() { "nothing".to_owned() } else { told.join("; ") }
}

/// The cells of the page's tables, by the first of their row.
fn rows(page: &str) -> BTreeMap<String, Vec<String>> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()))
        .filter_map(|mut cells| Some((cells.next()?, cells.collect())))
        .collect()
}

#[test]
fn the_page_shows_the_table_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/states.md");
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("docs/states.md: {error}"));
    let rows = rows(&page);
    let mut wrong = Vec::new();
    for state in State::ALL {
        let row = rows.get(&named(state));
        if row.and_then(|cells| cells.last()) != Some(&told(state)) {
            wrong.push(format!("| {} | … | {} |", named(state), told(state)));
        }
    }
    let known: Vec<_> =
        Event::ALL.iter().filter(|event| !rows.contains_key(event.word())).collect();
    assert!(wrong.is_empty(), "docs/states.md should say:\n{}", wrong.join("\n"));
    assert!(known.is_empty(), "docs/states.md does not explain {known:?}");
}
