//! A push that leaves, given a permit for each of its references; and what came of it.
//!
//! The bytes are carried by whoever holds the connection. They are given away here only, and only
//! while the permits are held.

use std::collections::HashMap;
use std::pin::Pin;

use broker::{Broker, Permit};
use policy::GitPush;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncRead;

use crate::wire::push::{Command, Reporting};
use crate::wire::report::{ReportReader, Status};

/// The body of a request, without its framing.
pub type Body<'b> = Pin<Box<dyn AsyncRead + Send + 'b>>;

/// The result in a `git-push.result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushResult {
    /// What became of the reference.
    pub outcome: PushOutcome,
    /// Why, in the server's words, where it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What became of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PushOutcome {
    /// The server changed it.
    Changed,
    /// The server refused.
    Refused,
    /// It was sent, and no report came.
    Unknown,
    /// Nothing of it was sent.
    NotSent,
}

/// A command that may be carried out, and the permit for it.
pub(crate) type Permitted = (Command, Permit<GitPush>);

/// A push that is permitted, all of it.
pub(crate) struct Leaving {
    broker: Broker,
    permitted: Vec<Permitted>,
    report: ReportReader,
    is_sent: bool,
}

impl Leaving {
    pub(crate) fn new(broker: Broker, permitted: Vec<Permitted>, reporting: Reporting) -> Self {
        Self { broker, permitted, report: ReportReader::new(reporting), is_sent: false }
    }

    /// The body, to be sent on.
    pub(crate) fn send<'b>(&mut self, body: Body<'b>) -> Body<'b> {
        self.is_sent = true;
        body
    }

    /// It is not sent after all.
    pub(crate) fn keep(&mut self) {
        self.is_sent = false;
    }

    /// Bytes of the server's answer.
    pub(crate) fn reads(&mut self, bytes: &[u8]) {
        self.report.read(bytes);
    }

    /// The permits, each with what came of it. `whole`: the answer is all there is.
    fn results(&mut self, whole: bool) -> Vec<(Permitted, PushResult)> {
        let nothing = ReportReader::new(Reporting::default());
        let statuses = std::mem::replace(&mut self.report, nothing).finish();
        let statuses = if whole { statuses } else { HashMap::new() };
        let result = |command: &Command| match statuses.get(command.reference.as_str()) {
            _ if !self.is_sent => PushResult { outcome: PushOutcome::NotSent, why: None },
            None => PushResult { outcome: PushOutcome::Unknown, why: None },
            Some(Status::Changed) => PushResult { outcome: PushOutcome::Changed, why: None },
            Some(Status::Refused(why)) => {
                let why = Some(names::redact(why).into_owned());
                PushResult { outcome: PushOutcome::Refused, why }
            }
        };
        let permitted = std::mem::take(&mut self.permitted);
        permitted.into_iter().map(|one| (result(&one.0), one)).map(|(r, one)| (one, r)).collect()
    }

    /// Records what came of each reference; gives the commands that the server carried out.
    pub(crate) fn complete(mut self, whole: bool) -> Vec<Command> {
        let results = self.results(whole);
        let mut changed = Vec::new();
        for ((command, permit), result) in results {
            let is_changed = result.outcome == PushOutcome::Changed;
            // A ledger that fails refuses whatever comes next.
            let _ = self.broker.complete(permit, &result);
            changed.extend(is_changed.then_some(command));
        }
        changed
    }
}

/// A push that is given up in its middle has a result all the same.
impl Drop for Leaving {
    fn drop(&mut self) {
        let results = self.results(false);
        if results.is_empty() {
            return;
        }
        let broker = self.broker.clone();
        let complete = move || {
            for ((_, permit), result) in results {
                let _ = broker.complete(permit, &result);
            }
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(complete)),
            Err(_) => complete(),
        }
    }
}
