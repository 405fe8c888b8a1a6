//! `[approvals]`.

use names::Span;

use super::{File, Stated};
use crate::read::{At, Entry};

/// What one file says about asking a person.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawApprovals {
    pub(crate) timeout: Option<Stated<Span>>,
    pub(crate) max_waiting: Option<Stated<u32>>,
    pub(crate) max_per_minute: Option<Stated<u32>>,
}

/// Time to answer, in milliseconds: up to a week.
const TIMEOUT: (u64, u64) = (1, 7 * 24 * 3_600_000);
/// Asks that wait at once: more than a person reads.
const WAITING: (i64, i64) = (1, 1000);
/// Asks in a minute.
const PER_MINUTE: (i64, i64) = (1, 10_000);

impl File<'_> {
    pub(super) fn approvals(&mut self, entry: Option<Entry>) -> RawApprovals {
        let Some(mut entry) = entry else { return RawApprovals::default() };
        RawApprovals {
            timeout: entry.text("timeout").and_then(|text| self.timeout(&text)),
            max_waiting: self.number_of_asks(&mut entry, "max_waiting", WAITING),
            max_per_minute: self.number_of_asks(&mut entry, "max_per_minute", PER_MINUTE),
        }
    }

    fn timeout(&mut self, text: &At<String>) -> Option<Stated<Span>> {
        let span = self.parsed(text, "approvals.timeout", Span::parse)?;
        let range = (Span::from_millis(TIMEOUT.0), Span::from_millis(TIMEOUT.1));
        self.within(At { line: text.line, value: span }, "approvals.timeout", range)
    }

    fn number_of_asks(
        &mut self,
        entry: &mut Entry,
        key: &str,
        range: (i64, i64),
    ) -> Option<Stated<u32>> {
        let whole = entry.whole(key)?;
        let Stated { value, origin } = self.within(whole, &format!("approvals.{key}"), range)?;
        Some(Stated { value: u32::try_from(value).ok()?, origin })
    }
}
