//! Requests over one connection: each is decided before it is sent on.

use std::sync::Arc;
use std::time::Duration;

use broker::Permit;
use names::Port;
use policy::{Connect, Http, Lease};

use crate::denial::{Denial, Whose};
use crate::gate::Gate;
use crate::git::{Asked, Git};
use crate::http::action::stated;
use crate::http::authority::Authority;
use crate::http::wire::{HttpError, RequestHead};
use crate::record::{HttpResult, Via};

/// Decides about the requests over one connection. Clones are for the same connection.
#[derive(Clone)]
pub struct Requests {
    gate: Arc<Gate>,
    connect: Connect,
    via: Via,
    default_port: Port,
    narrowed: bool,
}

/// A request that may be sent on.
pub struct Admitted {
    gate: Arc<Gate>,
    http: Option<Permit<Http>>,
    lent: Vec<Permit<Lease>>,
}

impl Admitted {
    /// The names of the leases whose credentials it carries.
    pub fn leases(&self) -> impl Iterator<Item = &str> {
        self.lent.iter().map(|permit| permit.act().name.as_str())
    }

    /// What completes all of its permits, in one piece: whoever waits for it may be gone meanwhile.
    fn complete(&mut self, status: Option<u16>) -> Option<impl FnOnce() + Send + 'static> {
        let (lent, http) = (std::mem::take(&mut self.lent), self.http.take());
        let broker = self.gate.broker.clone();
        (!lent.is_empty() || http.is_some()).then_some(move || {
            let result = HttpResult { status };
            // A ledger that fails refuses whatever comes next.
            lent.into_iter().for_each(|permit| drop(broker.complete(permit, &result)));
            http.into_iter().for_each(|permit| drop(broker.complete(permit, &result)));
        })
    }
}

/// A request that is given up in its middle, because its connection ends, has a result all the same.
impl Drop for Admitted {
    fn drop(&mut self) {
        let Some(complete) = self.complete(None) else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(complete)),
            Err(_) => complete(),
        }
    }
}

impl std::fmt::Debug for Admitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { http, lent, .. } = self;
        f.debug_struct("Admitted").field("http", http).field("lent", lent).finish_non_exhaustive()
    }
}

impl Requests {
    pub(crate) fn new(gate: Arc<Gate>, connect: Connect, via: Via, default_port: Port) -> Self {
        let narrowed = gate.authority().narrows(&connect);
        Self { gate, connect, via, default_port, narrowed }
    }

    /// The destination.
    #[must_use]
    pub fn connect(&self) -> &Connect {
        &self.connect
    }

    /// The port of an authority that names none.
    #[must_use]
    pub fn default_port(&self) -> Port {
        self.default_port
    }

    /// The destination as a request names it.
    #[must_use]
    pub fn authority(&self) -> Authority {
        Authority::new(self.connect.host.clone(), self.connect.port, self.default_port)
    }

    /// Whether the stated authority (of `Host`, of a URL, of `:authority`) is the destination's;
    /// another one is refused and recorded.
    pub async fn check(&self, stated: &Authority, method: &str, path: &str) -> Result<(), Denial> {
        if stated.is(&self.connect.host, self.connect.port) {
            return Ok(());
        }
        let http = self.gate.queries.request(&stated.host, stated.port, method, path);
        let Connect { host, port } = &self.connect;
        let reason = format!("the connection is to {host}:{port}, the request to {stated}");
        self.gate.refuse(http, &reason).await?;
        let next = "open a connection of its own for each host";
        Err(Denial::new(Whose::Policy, reason).next(next))
    }

    /// What a request is to Git, if it is Git's.
    pub(crate) fn git(&self, asked: &Asked) -> Option<Git> {
        self.gate.git.as_ref().and_then(|git| git.recognise(asked))
    }

    /// As [`Self::check`], for everything in a head that names a destination.
    pub async fn check_head(&self, head: &RequestHead) -> Result<(), Denial> {
        let stated = stated(head).map_err(|why| Denial::new(Whose::Client, why))?;
        for authority in stated {
            self.check(authority, &head.method, head.path()).await?;
        }
        Ok(())
    }

    /// Asks for a request, if the authority says more about some than about others; otherwise the
    /// connection's own permit is enough.
    pub async fn admit(&self, method: &str, path: &str) -> Result<Admitted, Denial> {
        if !self.narrowed {
            return Ok(self.admitted(None));
        }
        self.ask(method, path).await
    }

    /// A request over this connection, as the authority decides about it.
    pub(crate) fn http(&self, method: &str, path: &str) -> Http {
        let Connect { host, port } = &self.connect;
        self.gate.queries.request(host, *port, method, path)
    }

    /// Asks for a request and records it, whatever the authority says about others.
    pub async fn ask(&self, method: &str, path: &str) -> Result<Admitted, Denial> {
        let http = self.http(method, path);
        let permit = self.gate.ask(http).await?;
        Ok(self.admitted(Some(permit)))
    }

    fn admitted(&self, http: Option<Permit<Http>>) -> Admitted {
        Admitted { gate: self.gate.clone(), http, lent: Vec::new() }
    }

    /// Asks for a credential that an admitted request is to carry.
    pub(crate) async fn lend<'a>(
        &self,
        admitted: &'a mut Admitted,
        lease: Lease,
    ) -> Result<&'a Permit<Lease>, Denial> {
        let permit = self.gate.ask(lease).await?;
        Ok(admitted.lent.push_mut(permit))
    }

    /// Records that a credential was asked for where it may not go.
    pub(crate) async fn misplaced(&self, lease: Lease, reason: &str) -> Result<(), Denial> {
        self.gate.refuse(lease, reason).await
    }

    /// Until a head, once begun, is whole; and until a handshake is done.
    pub(crate) fn head_limit(&self) -> Duration {
        self.gate.limits.head
    }

    /// Records bytes of the client that are no request.
    pub async fn malformed(&self, why: HttpError, bytes: &[u8]) {
        self.gate.malformed(self.via, &why, bytes).await;
    }

    /// Records how a request went.
    pub async fn done(&self, mut admitted: Admitted, status: Option<u16>) {
        if let Some(complete) = admitted.complete(status) {
            let _ = tokio::task::spawn_blocking(complete).await;
        }
    }
}
