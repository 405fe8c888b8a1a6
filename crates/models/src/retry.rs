//! When a request that failed is sent again. Pure: time and chance come from outside.

use std::time::Duration;

use names::{Clock, Timestamp};

use crate::Cancel;
use crate::wire::{Again, Failure};

/// Most times that one request is sent.
const ATTEMPTS: u32 = 6;
/// Most time that is waited for one answer, all waits together.
const WAITED: Duration = Duration::from_secs(300);
/// The first wait; each later one is twice as long, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// Where time, chance and waiting come from.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// The time, for dates in `Retry-After`.
    pub(crate) clock: Clock,
    /// A number from 0 to 1.
    pub(crate) chance: fn() -> f64,
    /// Waits, and says whether it was cancelled.
    pub(crate) wait: fn(&Cancel, Duration) -> bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self { clock: names::system_clock, chance, wait: Cancel::wait }
    }
}

/// Nobody has to be surprised by it; it only has to differ from one client to the next.
fn chance() -> f64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let bits = RandomState::new().build_hasher().finish();
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// The attempts at one answer.
#[derive(Debug)]
pub(crate) struct Retry {
    attempt: u32,
    waited: Duration,
}

impl Retry {
    pub(crate) fn new() -> Self {
        Self { attempt: 1, waited: Duration::ZERO }
    }

    /// Which attempt this is, from 1.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How long to wait before the next attempt; `None` if there is none. What the provider asks
    /// for is never cut short: if it is too long, there is no attempt.
    pub(crate) fn next(&mut self, failure: &Failure, chance: f64) -> Option<Duration> {
        let Again::After(asked) = failure.again else { return None };
        let doubled = FIRST.saturating_mul(1 << (self.attempt - 1).min(16)).min(LONGEST);
        // From half of it to all of it.
        let jittered = doubled.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        let wait = asked.map_or(jittered, |asked| asked.max(jittered));
        if self.attempt >= ATTEMPTS || self.waited.saturating_add(wait) > WAITED {
            return None;
        }
        self.attempt += 1;
        self.waited = self.waited.saturating_add(wait);
        Some(wait)
    }
}

/// When the provider wants to be asked again: `retry-after-ms`, or `Retry-After` in seconds or as a
/// date (RFC 9110, section 10.2.3).
pub(crate) fn retry_after(headers: &http::HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text("retry-after-ms").and_then(|text| number(text, 1.0));
    millis.or_else(|| {
        let text = text("retry-after")?;
        number(text, 1000.0).or_else(|| Some(until(date(text)?, now)))
    })
}

/// A number of so many milliseconds each, which may have a fraction.
fn number(text: &str, millis: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok().filter(|number: &f64| *number >= 0.0)?;
    Duration::try_from_secs_f64(number * millis / 1000.0).ok()
}

fn until(then: Timestamp, now: Timestamp) -> Duration {
    let millis = then.as_millis().saturating_sub(now.as_millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// An IMF-fixdate, the form that is sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let [day, month, year, time, "GMT"] = date.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Timestamp::parse(&format!("{year}-{month:02}-{day}T{time}.000Z")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelError;

    fn failure(after: Option<u64>) -> Failure {
        let error = ModelError::Overloaded(String::new());
        Failure { error, again: Again::After(after.map(Duration::from_secs)) }
    }

    fn waits(after: Option<u64>, chance: f64) -> Vec<u128> {
        let mut retry = Retry::new();
        let next = || retry.next(&failure(after), chance);
        std::iter::from_fn(next).map(|wait| wait.as_millis()).collect()
    }

    #[test]
    fn waits_double_and_are_bounded() {
        assert_eq!(waits(None, 1.0), [500, 1000, 2000, 4000, 8000]);
        assert_eq!(waits(None, 0.0), [250, 500, 1000, 2000, 4000]);
    }

    #[test]
    fn what_the_provider_asks_for_is_kept_or_there_is_no_attempt() {
        assert_eq!(waits(Some(100), 0.5), [100_000, 100_000, 100_000]);
        assert_eq!(waits(Some(301), 0.5), [] as [u128; 0]);
        assert_eq!(waits(Some(u64::MAX), 0.5), [] as [u128; 0]);
        let mut retry = Retry::new();
        assert_eq!(retry.next(&Failure::malformed(""), 0.5), None);
    }

    #[test]
    fn every_form_of_retry_after_is_read() {
        let now = Timestamp::parse("1994-11-06T08:49:30.500Z").unwrap();
        let after = |name: &'static str, value: &str| {
            let mut headers = http::HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            retry_after(&headers, now).map(|span| span.as_millis())
        };
        assert_eq!(after("retry-after", "7"), Some(7_000));
        assert_eq!(after("retry-after", "0.25"), Some(250));
        assert_eq!(after("retry-after-ms", "1500"), Some(1_500));
        assert_eq!(after("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(6_500));
        assert_eq!(after("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT"), Some(0));
        for bad in ["-1", "NaN", "inf", "soon", "Sun, 31 Feb 1994 08:49:00 GMT", "1e400"] {
            assert_eq!(after("retry-after", bad), None, "{bad}");
        }
    }

    #[test]
    fn chance_stays_in_its_bounds() {
        assert!((0..1000).map(|_| chance()).all(|chance| (0.0..1.0).contains(&chance)));
    }
}
