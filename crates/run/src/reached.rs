//! What a run was connected to, as its ledger tells it.

use std::collections::{BTreeMap, BTreeSet};

use api::Reached;
use egress::ConnectResult;
use ledger::Record;
use policy::Connect;
use serde::Deserialize;

use crate::carried::{Carried, Closed, read};

/// Connections, from their intents to their results.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: BTreeMap<u64, (String, u16)>,
    all: BTreeMap<(String, u16), Destination>,
}

#[derive(Debug, Default)]
struct Destination {
    addresses: BTreeSet<String>,
    carried: Carried,
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
            let place = (action.host.to_string(), action.port.number());
            self.all.entry(place.clone()).or_default().carried.open();
            self.open.insert(record.seq, place);
        } else if record.kind == "connect.result" {
            let Done { intent, result } = read(record)?;
            if let Some(place) = self.open.remove(&intent) {
                self.all.entry(place).or_default().close(&result);
            }
        }
        Ok(())
    }

    /// Every destination, by host and port.
    pub(crate) fn reached(&self) -> Vec<Reached> {
        self.all.iter().map(|((host, port), destination)| destination.view(host, *port)).collect()
    }
}

impl Destination {
    fn close(&mut self, result: &ConnectResult) {
        self.addresses.extend(result.address.map(|address| address.ip().to_string()));
        let ConnectResult { sent, received, took_ms, ended, ref why, .. } = *result;
        self.carried.close(&Closed { sent, received, took_ms, ended, why });
    }

    fn view(&self, host: &str, port: u16) -> Reached {
        let Carried { connections, failed, sent, received, took_ms, why } = self.carried.clone();
        let (host, addresses) = (host.to_owned(), self.addresses.iter().cloned().collect());
        Reached { host, port, addresses, connections, failed, sent, received, took_ms, why }
    }
}
