//! Who came in by the published ports of a run, as its ledger tells it.

use std::collections::BTreeMap;

use api::Entered;
use egress::{How, PublishResult};
use ledger::Record;
use names::Port;
use policy::{Authority, Publish};
use serde::Deserialize;

/// Connections to published ports, from their intents to their results.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    open: BTreeMap<u64, Port>,
    all: BTreeMap<Port, Entered>,
}

#[derive(Deserialize)]
struct Intent {
    action: Publish,
}

#[derive(Deserialize)]
struct Done {
    intent: u64,
    result: PublishResult,
}

impl Entries {
    /// Takes note of a record of a connection.
    ///
    /// # Errors
    /// What does not read.
    pub(crate) fn add(&mut self, record: &Record<'_>) -> Result<(), String> {
        if record.kind.ends_with(ledger::kind::INTENT) {
            let Intent { action } = read(record)?;
            self.of(action.port).connections += 1;
            self.open.insert(record.seq, action.port);
        } else {
            let Done { intent, result } = read(record)?;
            if let Some(port) = self.open.remove(&intent) {
                close(self.of(port), &result);
            }
        }
        Ok(())
    }

    /// Every port that `authority` publishes, whether anybody came or not.
    pub(crate) fn published(&self, authority: &Authority) -> Vec<Entered> {
        let mut all = self.all.clone();
        for publication in &authority.publish {
            let entered = all.entry(publication.port).or_insert_with(|| nobody(publication.port));
            entered.outside.push(publication.outside);
        }
        all.into_values().collect()
    }

    fn of(&mut self, port: Port) -> &mut Entered {
        self.all.entry(port).or_insert_with(|| nobody(port))
    }
}

fn nobody(port: Port) -> Entered {
    Entered {
        port,
        outside: Vec::new(),
        connections: 0,
        failed: 0,
        sent: 0,
        received: 0,
        took_ms: 0,
        why: None,
    }
}

fn close(entered: &mut Entered, result: &PublishResult) {
    entered.sent = entered.sent.saturating_add(result.sent);
    entered.received = entered.received.saturating_add(result.received);
    entered.took_ms = entered.took_ms.saturating_add(result.took_ms);
    if !matches!(result.ended, How::Closed | How::ClientReset | How::Stopped) {
        entered.failed += 1;
        entered.why.clone_from(&result.why);
    }
}

fn read<T: serde::de::DeserializeOwned>(record: &Record<'_>) -> Result<T, String> {
    record.parse().map_err(|error| error.to_string())
}
