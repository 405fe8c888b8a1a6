//! What the connections to one place carried, as results of a ledger tell it.

use egress::How;
use ledger::Record;
use serde::de::DeserializeOwned;

/// The connections to one place together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// How many there were.
    pub(crate) connections: u64,
    /// Those that came to nothing.
    pub(crate) failed: u64,
    /// Bytes that left the sandbox.
    pub(crate) sent: u64,
    /// Bytes that came into it.
    pub(crate) received: u64,
    /// Time of all of them, in milliseconds.
    pub(crate) took_ms: u64,
    /// Why the last that failed did.
    pub(crate) why: Option<String>,
}

/// The end of one connection.
pub(crate) struct Closed<'a> {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) took_ms: u64,
    pub(crate) ended: How,
    pub(crate) why: &'a Option<String>,
}

impl Carried {
    /// One more began.
    pub(crate) fn open(&mut self) {
        self.connections = self.connections.saturating_add(1);
    }

    /// One of them ended.
    pub(crate) fn close(&mut self, closed: &Closed<'_>) {
        self.sent = self.sent.saturating_add(closed.sent);
        self.received = self.received.saturating_add(closed.received);
        self.took_ms = self.took_ms.saturating_add(closed.took_ms);
        if !matches!(closed.ended, How::Closed | How::ClientReset | How::Stopped) {
            self.failed = self.failed.saturating_add(1);
            self.why.clone_from(closed.why);
        }
    }
}

/// The body of a record.
///
/// # Errors
/// Why it does not read.
pub(crate) fn read<T: DeserializeOwned>(record: &Record<'_>) -> Result<T, String> {
    record.parse().map_err(|error| error.to_string())
}
