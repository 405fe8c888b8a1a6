//! What a run was connected to, as its ledger tells it.

use std::collections::BTreeMap;

use api::Reached;
use egress::{ConnectResult, How};
use ledger::Record;
use policy::Connect;
use serde::Deserialize;

/// Connections, from their intents to their results.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: BTreeMap<u64, Connect>,
    all: BTreeMap<(String, u16), Reached>,
}

#[derive(Deserialize)]
struct Intent {
    action: Connect,
}

#[derive(Deserialize)]
struct Done {
    intent: u64,
    result: ConnectResult,
}

impl Connections {
    /// Takes note of a record of a connection.
    ///
    /// # Errors
    /// What does not read.
    pub(crate) fn add(&mut self, record: &Record<'_>) -> Result<(), String> {
        if record.kind == "connect.intent" {
            let Intent { action } = read(record)?;
            self.entry(&action).connections += 1;
            self.open.insert(record.seq, action);
        } else if record.kind == "connect.result" {
            let Done { intent, result } = read(record)?;
            if let Some(connect) = self.open.remove(&intent) {
                close(self.entry(&connect), &result);
            }
        }
        Ok(())
    }

    /// Every destination, by host and port.
    pub(crate) fn reached(&self) -> Vec<Reached> {
        self.all.values().cloned().collect()
    }

    fn entry(&mut self, connect: &Connect) -> &mut Reached {
        let key = (connect.host.to_string(), connect.port.number());
        self.all.entry(key).or_insert_with_key(|(host, port)| Reached {
            host: host.clone(),
            port: *port,
            addresses: Vec::new(),
            connections: 0,
            failed: 0,
            sent: 0,
            received: 0,
            took_ms: 0,
            why: None,
        })
    }
}

fn close(reached: &mut Reached, result: &ConnectResult) {
    reached.sent = reached.sent.saturating_add(result.sent);
    reached.received = reached.received.saturating_add(result.received);
    reached.took_ms = reached.took_ms.saturating_add(result.took_ms);
    let address = result.address.map(|address| address.ip().to_string());
    if let Some(address) = address.filter(|address| !reached.addresses.contains(address)) {
        reached.addresses.push(address);
        reached.addresses.sort();
    }
    if !matches!(result.ended, How::Closed | How::ClientReset | How::Stopped) {
        reached.failed += 1;
        reached.why.clone_from(&result.why);
    }
}

fn read<T: serde::de::DeserializeOwned>(record: &Record<'_>) -> Result<T, String> {
    record.parse().map_err(|error| error.to_string())
}
