//! One connection to one destination: asked for, recorded, dialled, and recorded again.

use std::net::SocketAddr;
use std::sync::Arc;

use broker::Permit;
use names::Port;
use policy::Connect;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::denial::{Denial, Whose};
use crate::effect::{self, DialError};
use crate::gate::Gate;
use crate::meter::Meter;
use crate::reach::Reach;
use crate::record::{ConnectResult, Ended, How, Via};
use crate::requests::Requests;

/// A connection that is allowed, on record, and open. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) gate: Arc<Gate>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) reach: Reach,
    via: Via,
    connect: Connect,
    /// None while there is none, and after its end.
    open: Arc<Mutex<Option<Open>>>,
}

/// What is to be put on record of a connection when it ends.
struct Open {
    permit: Permit<Connect>,
    address: SocketAddr,
    since: Instant,
    /// What the meter counted before it, sent and received.
    before: (u64, u64),
}

impl Session {
    /// Asks, records the intent, dials. Whatever comes of it is on record when this returns.
    pub(crate) async fn open(
        gate: &Arc<Gate>,
        connect: Connect,
        via: Via,
    ) -> Result<(Self, TcpStream), Denial> {
        let permit = gate.ask(connect.clone()).await?;
        let reach = gate.reach(&connect);
        let (permit, stream, address) = dial(gate, permit, &reach, via).await?;
        let meter = Arc::new(Meter::new(reach.budgets.clone()));
        let open = Open { permit, address, since: Instant::now(), before: (0, 0) };
        let open = Arc::new(Mutex::new(Some(open)));
        Ok((Self { gate: gate.clone(), meter, reach, via, connect, open }, stream))
    }

    /// Another connection to the same destination, in place of one that is of no use any more: that
    /// one's record ends here, and this one is asked for and recorded as the first was.
    pub(crate) async fn reopen(&self) -> Result<TcpStream, Denial> {
        // What was begun comes to its record, also if nobody waits for it any more.
        let reopening = tokio::spawn(self.clone().replace());
        let gone = |_| Err(Denial::new(Whose::Loop, "the connection could not be replaced"));
        reopening.await.unwrap_or_else(gone)
    }

    async fn replace(self) -> Result<TcpStream, Denial> {
        let mut open = self.open.lock().await;
        if open.is_none() {
            return Err(Denial::new(Whose::Loop, "the connection is over"));
        }
        self.end(&mut open, Ended::because(How::Closed, "replaced after a long wait")).await;
        let permit = self.gate.ask(self.connect.clone()).await?;
        let (permit, stream, address) = dial(&self.gate, permit, &self.reach, self.via).await?;
        let before = (self.meter.sent(), self.meter.received());
        *open = Some(Open { permit, address, since: Instant::now(), before });
        Ok(stream)
    }

    pub(crate) fn connect(&self) -> &Connect {
        &self.connect
    }

    pub(crate) fn via(&self) -> Via {
        self.via
    }

    pub(crate) fn requests(&self, default_port: Port) -> Requests {
        Requests::new(self.gate.clone(), self.connect().clone(), self.via, default_port)
    }

    /// Records that the gate refuses to go on, because of what the client sent.
    pub(crate) async fn refuse(&self, reason: &str) {
        // A ledger that fails here fails again at the end, and refuses all that comes.
        let _ = self.gate.refuse(self.connect().clone(), reason).await;
    }

    /// Records the end.
    pub(crate) async fn close(self, ended: Ended) {
        self.end(&mut *self.open.lock().await, ended).await;
    }

    async fn end(&self, open: &mut Option<Open>, ended: Ended) {
        let Some(Open { permit, address, since, before }) = open.take() else { return };
        let sent = self.meter.sent().saturating_sub(before.0);
        let received = self.meter.received().saturating_sub(before.1);
        self.gate.count(sent, received);
        let result = ConnectResult {
            via: self.via,
            address: Some(address),
            sent,
            received,
            took_ms: millis(since.elapsed()),
            ended: ended.how,
            why: ended.why,
        };
        self.gate.complete(permit, result).await;
    }
}

/// Dials what is permitted. If that fails it is on record.
async fn dial(
    gate: &Arc<Gate>,
    permit: Permit<Connect>,
    reach: &Reach,
    via: Via,
) -> Result<(Permit<Connect>, TcpStream, SocketAddr), Denial> {
    let started = Instant::now();
    let limit = gate.limits.dial;
    let dialled = tokio::select! {
        dialled = effect::dial(&permit, gate.authority(), reach, &*gate.resolver, limit) => dialled,
        () = gate.stopped() => {
            unopened(gate, permit, via, started, How::Stopped.into()).await;
            return Err(Denial::new(Whose::Loop, "the gate is stopping"));
        }
    };
    match dialled {
        Ok((stream, address)) => {
            // Small messages must not wait for each other; it is no harm if that fails.
            let _ = stream.set_nodelay(true);
            Ok((permit, stream, address))
        }
        Err(error) => {
            let denial = Denial::from(&error);
            let how = if matches!(error, DialError::Barred(_)) {
                gate.refuse(permit.act().clone(), &denial.reason).await?;
                How::Denied
            } else {
                How::Unreachable
            };
            unopened(gate, permit, via, started, Ended::because(how, &denial.reason)).await;
            Err(denial)
        }
    }
}

async fn unopened(gate: &Gate, permit: Permit<Connect>, via: Via, started: Instant, ended: Ended) {
    let Ended { how, why } = ended;
    let took_ms = millis(started.elapsed());
    let result =
        ConnectResult { via, address: None, sent: 0, received: 0, took_ms, ended: how, why };
    gate.count(0, 0);
    gate.complete(permit, result).await;
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
