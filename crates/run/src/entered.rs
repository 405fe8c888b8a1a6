//! Who came in by the published ports of a run, as its ledger tells it.

use std::collections::BTreeMap;

use api::Entered;
use egress::PublishResult;
use ledger::Record;
use names::Port;
use policy::{Authority, Publish};
use serde::Deserialize;

use crate::carried::{Carried, Closed, read};

/// Connections to published ports, from their intents to their results.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    open: BTreeMap<u64, Port>,
    all: BTreeMap<Port, Carried>,
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
            self.all.entry(action.port).or_default().open();
            self.open.insert(record.seq, action.port);
        } else {
            let Done { intent, result } = read(record)?;
            if let Some(port) = self.open.remove(&intent) {
                let PublishResult { sent, received, took_ms, ended, ref why, .. } = result;
                let closed = Closed { sent, received, took_ms, ended, why };
                self.all.entry(port).or_default().close(&closed);
            }
        }
        Ok(())
    }

    /// Every port that `authority` publishes, whether anybody came or not.
    pub(crate) fn published(&self, authority: &Authority) -> Vec<Entered> {
        let mut all: BTreeMap<Port, Entered> = self
            .all
            .iter()
            .map(|(port, carried)| (*port, entered(*port, carried.clone())))
            .collect();
        for publication in &authority.publish {
            let nobody = || entered(publication.port, Carried::default());
            let entered = all.entry(publication.port).or_insert_with(nobody);
            entered.outside.push(publication.outside);
        }
        all.into_values().collect()
    }
}

fn entered(port: Port, carried: Carried) -> Entered {
    let Carried { connections, failed, sent, received, took_ms, why } = carried;
    Entered { port, outside: Vec::new(), connections, failed, sent, received, took_ms, why }
}
