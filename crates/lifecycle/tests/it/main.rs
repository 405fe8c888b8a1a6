//! Every pair of the table, and what has to hold of all of them.

mod page;

use std::collections::BTreeSet;

use lifecycle::{Event, Illegal, State};

/// Every pair and what becomes of it.
fn pairs() -> impl Iterator<Item = (State, Event, Result<State, Illegal>)> {
    let events = |state: State| Event::ALL.map(|event| (state, event, state.after(event)));
    State::ALL.into_iter().flat_map(events)
}

/// What can be reached from a state by the events that `may` lets happen.
fn reachable(from: State, may: impl Fn(Event) -> bool) -> BTreeSet<State> {
    let mut reached = BTreeSet::from([from]);
    let mut next = vec![from];
    while let Some(state) = next.pop() {
        let steps = Event::ALL.into_iter().filter(|event| may(*event));
        for after in steps.filter_map(|event| state.after(event).ok()) {
            if reached.insert(after) {
                next.push(after);
            }
        }
    }
    reached
}

/// Nobody works on the run, and it can be left as it is.
fn is_an_end(state: State) -> bool {
    !state.is_live() && !state.is_half_done()
}

#[test]
fn the_lists_hold_each_state_and_event_once() {
    assert_eq!(BTreeSet::from(State::ALL).len(), State::ALL.len());
    assert_eq!(BTreeSet::from(Event::ALL).len(), Event::ALL.len());
    let words: BTreeSet<_> = Event::ALL.map(Event::word).into();
    assert_eq!(words.len(), Event::ALL.len());
}

#[test]
fn every_pair_is_legal_or_an_error_that_names_both() {
    for (state, event, after) in pairs() {
        match after {
            Ok(next) => assert!(State::ALL.contains(&next), "{state} {event}: {next:?}"),
            Err(illegal) => {
                assert_eq!(illegal, Illegal { state, event });
                let told = illegal.to_string();
                assert!(told.contains(state.word()) && told.contains(event.word()), "{told}");
            }
        }
        assert_eq!(state.allows(event), after.is_ok());
    }
}

#[test]
fn no_state_is_unreachable() {
    assert_eq!(reachable(State::New, |_| true), BTreeSet::from(State::ALL));
}

#[test]
fn every_event_can_happen_somewhere() {
    let legal: BTreeSet<_> = pairs().filter_map(|(_, event, it)| it.ok().map(|_| event)).collect();
    assert_eq!(legal, BTreeSet::from(Event::ALL));
}

#[test]
fn cancel_works_in_every_live_state_and_leads_to_an_end() {
    for state in State::ALL {
        let cancelled = state.after(Event::Cancel);
        assert_eq!(cancelled.is_ok(), state.is_live(), "{state}");
        let Ok(cancelled) = cancelled else { continue };
        // Without a crash, and without anything new.
        let ends = reachable(cancelled, |event| {
            matches!(event, Event::Seal | Event::End | Event::Sign | Event::Succeed | Event::Fail)
        });
        assert!(ends.iter().copied().any(is_an_end), "{state}: {ends:?}");
    }
}

#[test]
fn nothing_begins_after_a_cancel() {
    let begins = [Event::Do, Event::Ask, Event::Turn, Event::Check, Event::Stand, Event::Start];
    for state in State::ALL {
        let Ok(cancelled) = state.after(Event::Cancel) else { continue };
        for event in begins {
            assert!(!cancelled.allows(event), "{state}, then {event}");
        }
    }
}

#[test]
fn a_crash_ends_every_live_state_and_nothing_else() {
    for state in State::ALL {
        let crashed = state.after(Event::Crash);
        assert_eq!(crashed.is_ok(), state.is_live(), "{state}");
        let Ok(crashed) = crashed else { continue };
        assert!(!crashed.is_live(), "{state}: {crashed}");
        assert!(reachable(crashed, |event| event != Event::Crash).into_iter().any(is_an_end));
    }
}

/// What was in flight is never done again: after a crash nothing of the work is legal.
#[test]
fn a_crash_is_not_gone_on_from() {
    let begins = [Event::Start, Event::Stand, Event::Do, Event::Ask, Event::Turn, Event::Check];
    for crashed in State::ALL.into_iter().filter_map(|state| state.after(Event::Crash).ok()) {
        for state in reachable(crashed, |_| true) {
            let legal = begins.into_iter().find(|event| state.allows(*event));
            assert_eq!(legal, None, "{crashed} leads to {state}");
        }
    }
}

#[test]
fn what_is_half_done_is_either_taken_back_or_found_done() {
    for state in State::ALL {
        for event in [Event::TakeBack, Event::FindDone] {
            let after = state.after(event);
            assert_eq!(after.is_ok(), state.is_half_done(), "{state} {event}");
            assert!(after.is_err() || after.is_ok_and(is_an_end), "{state} {event}");
        }
    }
}

#[test]
fn taken_back_is_where_it_began() {
    for (state, event, during) in pairs() {
        let (Event::Apply | Event::Undo | Event::Discard, Ok(during)) = (event, during) else {
            continue;
        };
        assert_eq!(during.after(Event::Fail), Ok(state), "{state} {event}");
        if let Ok(crashed) = during.after(Event::Crash) {
            assert_eq!(crashed.after(Event::TakeBack), Ok(state), "{state} {event}");
            assert_eq!(crashed.after(Event::FindDone), during.after(Event::Succeed));
        }
    }
}

#[test]
fn final_states_stay() {
    for (state, event, after) in pairs().filter(|(state, ..)| state.is_final()) {
        assert!(after.is_err() || after == Ok(state), "{state} {event}: {after:?}");
        assert!(!state.is_live());
    }
}

#[test]
fn no_end_but_a_final_one_is_a_dead_end() {
    for state in State::ALL.into_iter().filter(|state| !state.is_final()) {
        assert!(reachable(state, |_| true).into_iter().any(State::is_final), "{state}");
    }
}

#[test]
fn nothing_is_written_to_the_project_before_the_receipt_is_signed() {
    let unsigned = reachable(State::New, |event| event != Event::Sign);
    for state in unsigned {
        for event in [Event::Apply, Event::Undo, Event::Branch] {
            assert!(!state.allows(event), "{state} allows {event}");
        }
    }
}

#[test]
fn a_whole_life() {
    use lifecycle::{Phase, Waits};
    let life = [
        (Event::Start, State::Preparing),
        (Event::Stand, State::Working),
        (Event::Do, State::Working),
        (Event::Ask, State::Waiting(Phase::Work)),
        (Event::Ask, State::Waiting(Phase::Work)),
        (Event::Settle, State::Waiting(Phase::Work)),
        (Event::SettleLast, State::Working),
        (Event::Done, State::Working),
        (Event::Check, State::Checking),
        (Event::Stand, State::Checking),
        (Event::Ask, State::Waiting(Phase::Checks)),
        (Event::SettleLast, State::Checking),
        (Event::Judge, State::Checking),
        (Event::Turn, State::Working),
        (Event::Check, State::Checking),
        (Event::Judge, State::Checking),
        (Event::Seal, State::Sealing),
        (Event::End, State::Ended),
        (Event::Sign, State::Ready),
        (Event::Apply, State::Applying(Waits::Ready)),
        (Event::Succeed, State::Applied),
        (Event::Undo, State::Undoing),
        (Event::Crash, State::HalfUndone),
        (Event::FindDone, State::Undone),
        (Event::Apply, State::Applying(Waits::Undone)),
        (Event::Fail, State::Undone),
    ];
    let mut state = State::New;
    for (event, expected) in life {
        state = state.after(event).expect("legal");
        assert_eq!(state, expected, "after {event}");
    }
    assert_eq!(state.after(Event::Undo), Err(Illegal { state, event: Event::Undo }));
}
