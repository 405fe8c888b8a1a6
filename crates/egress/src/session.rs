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
use crate::meter::{Meter, Metered};
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
    /// It, and those that took its place; none after its end.
    opened: Arc<Mutex<Vec<Opened>>>,
}

/// What is to be put on record of a connection at its end.
struct Opened {
    permit: Permit<Connect>,
    address: SocketAddr,
    meter: Arc<Meter>,
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
        let opened = vec![Opened { permit, address, meter: meter.clone() }];
        let opened = Arc::new(Mutex::new(opened));
        Ok((Self { gate: gate.clone(), meter, reach, via, connect, opened }, stream))
    }

    /// Another connection to the same destination, in the place of one that is of no use any more:
    /// asked for, recorded and counted by itself. Its record ends with that of the first.
    pub(crate) async fn another(&self) -> Result<Metered<TcpStream>, Denial> {
        // What was begun comes to its record, also if nobody waits for it any more.
        let opening = tokio::spawn(self.clone().open_another());
        let gone = |_| Err(Denial::new(Whose::Loop, "there is no other connection"));
        opening.await.unwrap_or_else(gone)
    }

    async fn open_another(self) -> Result<Metered<TcpStream>, Denial> {
        // Held until it is among them, so that none is left out when they end.
        let mut opened = self.opened.lock().await;
        if opened.is_empty() {
            return Err(Denial::new(Whose::Loop, "the connection is over"));
        }
        let permit = self.gate.ask(self.connect.clone()).await?;
        let (permit, stream, address) = dial(&self.gate, permit, &self.reach, self.via).await?;
        let meter = Arc::new(self.meter.another());
        opened.push(Opened { permit, address, meter: meter.clone() });
        Ok(Metered::new(stream, meter))
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
        for one in self.opened.lock().await.drain(..) {
            let (sent, received) = (one.meter.sent(), one.meter.received());
            self.gate.count(sent, received);
            let result = ConnectResult {
                via: self.via,
                address: Some(one.address),
                sent,
                received,
                took_ms: millis(one.meter.age()),
                ended: ended.how,
                why: ended.why.clone(),
            };
            self.gate.complete(one.permit, result).await;
        }
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
