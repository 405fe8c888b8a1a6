//! One connection to one destination: asked for, recorded, dialled, and recorded again.

use std::net::SocketAddr;
use std::sync::Arc;

use broker::Permit;
use names::Port;
use policy::Connect;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::denial::{Denial, Whose};
use crate::effect::{self, DialError};
use crate::gate::Gate;
use crate::meter::Meter;
use crate::reach::Reach;
use crate::record::{ConnectResult, Ended, How, Via};
use crate::requests::Requests;

/// A connection that is allowed, on record, and open.
pub(crate) struct Session {
    pub(crate) gate: Arc<Gate>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) reach: Reach,
    via: Via,
    permit: Permit<Connect>,
    address: SocketAddr,
}

impl Session {
    /// Asks, records the intent, dials. Whatever comes of it is on record when this returns.
    pub(crate) async fn open(
        gate: &Arc<Gate>,
        connect: Connect,
        via: Via,
    ) -> Result<(Self, TcpStream), Denial> {
        let permit = gate.ask(connect.clone()).await?;
        let started = Instant::now();
        let reach = gate.reach(&connect);
        let limit = gate.limits.dial;
        let dialled = tokio::select! {
            dialled = effect::dial(&permit, gate.authority(), &reach, &*gate.resolver, limit) => dialled,
            () = gate.stopped() => {
                unopened(gate, permit, via, started, How::Stopped.into()).await;
                return Err(Denial::new(Whose::Loop, "the gate is stopping"));
            }
        };
        match dialled {
            Ok((stream, address)) => {
                // Small messages must not wait for each other; it is no harm if that fails.
                let _ = stream.set_nodelay(true);
                let meter = Arc::new(Meter::new(reach.budgets.clone()));
                Ok((Self { gate: gate.clone(), meter, reach, via, permit, address }, stream))
            }
            Err(error) => {
                let denial = Denial::from(&error);
                let how = if matches!(error, DialError::Barred(_)) {
                    gate.refuse(connect, &denial.reason).await?;
                    How::Denied
                } else {
                    How::Unreachable
                };
                unopened(gate, permit, via, started, Ended::because(how, &denial.reason)).await;
                Err(denial)
            }
        }
    }

    pub(crate) fn connect(&self) -> &Connect {
        self.permit.act()
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
        let (sent, received) = (self.meter.sent(), self.meter.received());
        self.gate.count(sent, received);
        let result = ConnectResult {
            via: self.via,
            address: Some(self.address),
            sent,
            received,
            took_ms: millis(self.meter.age()),
            ended: ended.how,
            why: ended.why,
        };
        self.gate.complete(self.permit, result).await;
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
