//! How many asks may reach a person, and when to say that it is too many.

use std::collections::VecDeque;

use names::Timestamp;
use policy::AskLimits;

/// In milliseconds.
const MINUTE: i64 = 60_000;

/// A setting of the owner that cut asks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capped {
    /// The key of the owner's configuration.
    pub key: &'static str,
    /// What it says.
    pub limit: u32,
}

/// The asks of the last minute.
#[derive(Debug, Default)]
pub(super) struct Pace {
    asked: VecDeque<Timestamp>,
    said: Vec<(&'static str, Timestamp)>,
}

impl Pace {
    /// Counts one more ask, unless it is one too many. `waiting` others wait.
    pub(super) fn admit(
        &mut self,
        limits: &AskLimits,
        waiting: usize,
        now: Timestamp,
    ) -> Result<(), Capped> {
        self.asked.retain(|at| within_a_minute(*at, now));
        if reached(waiting, limits.max_waiting) {
            return Err(Capped { key: "approvals.max_waiting", limit: limits.max_waiting });
        }
        if reached(self.asked.len(), limits.max_per_minute) {
            return Err(Capped { key: "approvals.max_per_minute", limit: limits.max_per_minute });
        }
        self.asked.push_back(now);
        Ok(())
    }

    /// Whether it is to be said that this cap cut asks off: once a minute, however many there are.
    pub(super) fn is_news(&mut self, capped: Capped, now: Timestamp) -> bool {
        self.said.retain(|(_, at)| within_a_minute(*at, now));
        let news = self.said.iter().all(|(key, _)| *key != capped.key);
        if news {
            self.said.push((capped.key, now));
        }
        news
    }
}

fn reached(number: usize, limit: u32) -> bool {
    usize::try_from(limit).is_ok_and(|limit| number >= limit)
}

/// A time in the future was noted before the clock was set back, and says nothing any more.
fn within_a_minute(at: Timestamp, now: Timestamp) -> bool {
    (0..MINUTE).contains(&now.as_millis().saturating_sub(at.as_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use names::Span;

    const LIMITS: AskLimits =
        AskLimits { timeout: Span::from_secs(600), max_waiting: 3, max_per_minute: 5 };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn the_caps_are_the_numbers_that_were_set() {
        let mut pace = Pace::default();
        assert_eq!(pace.admit(&LIMITS, 3, at(0)).unwrap_err().key, "approvals.max_waiting");
        for millis in 0..5 {
            pace.admit(&LIMITS, 0, at(millis)).unwrap();
        }
        let capped = pace.admit(&LIMITS, 0, at(5)).unwrap_err();
        assert_eq!(capped, Capped { key: "approvals.max_per_minute", limit: 5 });
        pace.admit(&LIMITS, 0, at(MINUTE)).unwrap();
        assert!(pace.admit(&LIMITS, 0, at(MINUTE)).is_err());
    }

    #[test]
    fn a_clock_set_back_locks_nobody_out() {
        let mut pace = Pace::default();
        for millis in 0..5 {
            pace.admit(&LIMITS, 0, at(1_000_000 + millis)).unwrap();
        }
        pace.admit(&LIMITS, 0, at(0)).unwrap();
    }

    #[test]
    fn a_burst_is_said_once() {
        let mut pace = Pace::default();
        let waiting = Capped { key: "approvals.max_waiting", limit: 3 };
        let minute = Capped { key: "approvals.max_per_minute", limit: 5 };
        assert!(pace.is_news(waiting, at(0)));
        assert!(!pace.is_news(waiting, at(1)));
        assert!(pace.is_news(minute, at(2)));
        assert!(!pace.is_news(waiting, at(MINUTE - 1)));
        assert!(pace.is_news(waiting, at(MINUTE)));
    }
}
