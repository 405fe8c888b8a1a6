//! What all protocols of the gate share: whom to ask, where to record, how much is too much.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broker::{Act, Broker, Context, Permit, Refusal};
use policy::{Authority, Connect};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::denial::{Denial, Whose};
use crate::effect::Resolver;
use crate::git::GitGate;
use crate::http::action::QueryKey;
use crate::intercept::Intercept;
use crate::meter::Budget;
use crate::reach::Reach;
use crate::record::{FLOOD, Flood, MALFORMED, Malformed, Note, Noted, Totals, Via};
use crate::relay::Buffers;
use crate::synthetic::Table;

/// How much is too much.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at a time; further ones wait.
    pub connections: usize,
    /// Connections to published ports at a time; further ones wait.
    pub published: usize,
    /// Until the head of a message, once begun, is whole.
    pub head: Duration,
    /// Until an address answers; all addresses of a name together.
    pub dial: Duration,
    /// Without a byte either way.
    pub idle: Duration,
    /// From the beginning of a connection to its end.
    pub total: Duration,
    /// From being told to stop to having stopped, for what is still to be recorded.
    pub stop: Duration,
    /// Refused names that get a record each; the rest is counted.
    pub refused_names: usize,
    /// Malformed requests that get a record each; the rest is counted.
    pub malformed: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            published: 256,
            head: Duration::from_secs(30),
            dial: Duration::from_secs(30),
            idle: Duration::from_secs(15 * 60),
            total: Duration::from_secs(24 * 60 * 60),
            stop: Duration::from_secs(5),
            refused_names: 1000,
            malformed: 1000,
        }
    }
}

/// What is plugged into a gate.
pub(crate) struct Plugged {
    pub(crate) intercept: Option<Arc<dyn Intercept>>,
    pub(crate) git: Option<Arc<dyn GitGate>>,
}

/// One gate, of one run.
pub(crate) struct Gate {
    pub(crate) broker: Broker,
    pub(crate) limits: Limits,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) intercept: Option<Arc<dyn Intercept>>,
    pub(crate) git: Option<Arc<dyn GitGate>>,
    pub(crate) queries: QueryKey,
    pub(crate) buffers: Buffers,
    pub(crate) table: Mutex<Table>,
    pub(crate) refused: Mutex<Noted>,
    /// Held while a person is asked about a name.
    pub(crate) asking: tokio::sync::Mutex<()>,
    malformed: Mutex<Noted>,
    totals: Mutex<Totals>,
    budgets: Vec<Option<Arc<Budget>>>,
    stop: watch::Receiver<bool>,
}

impl Gate {
    pub(crate) fn new(
        broker: Broker,
        limits: Limits,
        table: Table,
        resolver: Arc<dyn Resolver>,
        Plugged { intercept, git }: Plugged,
        queries: QueryKey,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let budget = |size: names::ByteSize| Arc::new(Budget::new(size.bytes()));
        let grants = &broker.authority().network;
        Self {
            budgets: grants.iter().map(|grant| grant.max_bytes.map(budget)).collect(),
            refused: Mutex::new(Noted::new(limits.refused_names)),
            malformed: Mutex::new(Noted::new(limits.malformed)),
            asking: tokio::sync::Mutex::default(),
            totals: Mutex::default(),
            buffers: Buffers::default(),
            table: Mutex::new(table),
            broker,
            limits,
            resolver,
            intercept,
            git,
            queries,
            stop,
        }
    }

    pub(crate) fn authority(&self) -> &Authority {
        self.broker.authority()
    }

    pub(crate) fn reach(&self, connect: &Connect) -> Reach {
        Reach::of(self.authority(), connect, &self.budgets)
    }

    /// Whether TLS to this destination has to be opened: because its requests have to be seen, or
    /// because a file vouches for it, which clients inside know nothing of. Shown to them, its
    /// certificates would vouch for every host.
    pub(crate) fn opens(&self, connect: &Connect) -> bool {
        let wanted = |intercept: &Arc<dyn Intercept>| intercept.wants(connect);
        self.sees(connect)
            || self.intercept.as_ref().is_some_and(wanted)
            || !self.reach(connect).ca_files.is_empty()
    }

    /// Whether requests to this destination have to be seen to be decided about, whatever protocol
    /// carries them.
    pub(crate) fn sees(&self, connect: &Connect) -> bool {
        let pushes = self.git.as_ref().is_some_and(|git| git.wants(connect));
        pushes || self.authority().narrows(connect)
    }

    /// Returns when the gate is told to stop.
    pub(crate) async fn stopped(&self) {
        // An error means that whoever could tell is gone.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// Waits for something, but not for ever, and not when the gate is told to stop.
    pub(crate) async fn in_time<T>(
        &self,
        limit: Duration,
        waited_for: impl Future<Output = T>,
    ) -> Result<T, Late> {
        tokio::select! {
            came = timeout(limit, waited_for) => came.map_err(|_| Late::Slow),
            () = self.stopped() => Err(Late::Stopped),
        }
    }

    /// Decides and records; on a thread that may wait, for the disk, or for a person until the gate is
    /// told to stop.
    pub(crate) async fn ask<A: Act + Send + 'static>(&self, act: A) -> Result<Permit<A>, Denial> {
        let (broker, stop) = (self.broker.clone(), self.stop.clone());
        let wanted = move || !*stop.borrow();
        let asking = move || broker.request_while(act, Context::default(), &wanted);
        let asked = spawn_blocking(asking).await;
        asked.map_err(|_| broken())?.map_err(|refusal: Refusal| Denial::from(&refusal))
    }

    /// Records that the gate itself refuses something.
    pub(crate) async fn refuse<A: Act + Send + 'static>(
        &self,
        act: A,
        reason: &str,
    ) -> Result<(), Denial> {
        let (broker, reason) = (self.broker.clone(), reason.to_owned());
        let recorded = spawn_blocking(move || broker.record_denial(&act.action(), &reason)).await;
        recorded.map_err(|_| broken())?.map_err(|_| unrecorded())?;
        Ok(())
    }

    /// Records a result. If that fails the ledger is broken, and refuses whatever comes next.
    pub(crate) async fn complete<A: Act + Send + 'static>(
        &self,
        permit: Permit<A>,
        result: impl Serialize + Send + 'static,
    ) {
        let broker = self.broker.clone();
        let _ = spawn_blocking(move || broker.complete(permit, &result)).await;
    }

    /// Records bytes that are no request, unless there were too many of them.
    pub(crate) async fn malformed(
        &self,
        via: Via,
        why: &(dyn std::fmt::Display + Sync),
        bytes: &[u8],
    ) {
        let body = Malformed::new(via, why, bytes);
        let what = format!("{:?} {} {}", body.via, body.why, body.first);
        let note = lock(&self.malformed).note(&what);
        match note {
            Note::Record => self.commit(MALFORMED, body).await,
            Note::RecordFlood => self.flood("malformed", self.limits.malformed).await,
            Note::Count => {}
        }
    }

    pub(crate) async fn flood(&self, of: &str, recorded: usize) {
        self.commit(FLOOD, Flood { of: of.to_owned(), recorded: recorded as u64 }).await;
    }

    async fn commit(&self, kind: &'static str, body: impl Serialize + Send + 'static) {
        let ledger = self.broker.ledger().clone();
        let _ = spawn_blocking(move || ledger.commit(kind, &body)).await;
    }

    pub(crate) fn count(&self, sent: u64, received: u64) {
        let mut totals = lock(&self.totals);
        totals.connections += 1;
        totals.sent += sent;
        totals.received += received;
    }

    pub(crate) fn totals(&self) -> Totals {
        let mut totals = lock(&self.totals).clone();
        (totals.refused_lookups, totals.unrecorded_lookups) = lock(&self.refused).counts();
        (totals.malformed, totals.unrecorded_malformed) = lock(&self.malformed).counts();
        totals
    }
}

/// Why something was not waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// It took too long.
    Slow,
    /// The gate is told to stop.
    Stopped,
}

/// What a lock protects stays whole even if a thread died: each change is one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn broken() -> Denial {
    Denial::new(Whose::Loop, "the gate is stopping")
}

fn unrecorded() -> Denial {
    Denial::new(Whose::Loop, "it could not be recorded, so it does not happen")
}
