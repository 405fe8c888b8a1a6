//! Published ports: clients of this machine, carried into the sandbox.
//!
//! Each connection is asked for and on record before a byte of it is carried. There is no deadline:
//! a page may hold its connection open for as long as the run goes on.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use broker::Permit;
use names::Port;
use policy::Publish;
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;

use crate::gate::Gate;
use crate::meter::{Meter, Way};
use crate::record::{Ended, How, PublishResult};
use crate::relay::pump;
use crate::tunnel::farewell;

/// What is published, and how it is reached.
pub struct Entrance {
    /// Who connects inside.
    pub inside: Arc<dyn Inside>,
    /// Where clients come in.
    pub ports: Vec<Published>,
}

/// A port of the sandbox, and where this machine's clients come in.
#[derive(Debug)]
pub struct Published {
    /// The port inside.
    pub port: Port,
    /// Listeners on this machine's loopback addresses.
    pub listeners: Vec<TcpListener>,
}

/// Whoever can connect to a port of the sandbox.
pub trait Inside: Send + Sync {
    /// A connection to the permitted port, and the address inside. It may block.
    ///
    /// # Errors
    /// When nothing listens there.
    fn connect(&self, permit: &Permit<Publish>) -> io::Result<(std::net::TcpStream, SocketAddr)>;
}

/// Serves one client.
pub(crate) async fn serve(
    gate: Arc<Gate>,
    inside: Arc<dyn Inside>,
    mut client: TcpStream,
    port: Port,
) {
    // What is denied is on record; the client learns no more than that nobody serves it.
    let Ok(permit) = gate.ask(Publish { port }).await else {
        return farewell(&mut client, &[]).await;
    };
    let meter = Meter::new(Vec::new());
    let Some((permit, connected)) = connect(inside, permit).await else { return };
    let (address, ended) = match connected {
        Ok((server, address)) => (Some(address), carry(&gate, &meter, client, server).await),
        Err(error) => {
            farewell(&mut client, &[]).await;
            (None, Ended::because(How::Unreachable, why(&error)))
        }
    };
    let result = PublishResult {
        address,
        sent: meter.sent(),
        received: meter.received(),
        took_ms: u64::try_from(meter.age().as_millis()).unwrap_or(u64::MAX),
        ended: ended.how,
        why: ended.why,
    };
    gate.complete(permit, result).await;
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listened there".to_owned(),
        _ => error.to_string(),
    }
}

/// On a thread that may wait. Should that die, the outcome is unknown for ever.
async fn connect(
    inside: Arc<dyn Inside>,
    permit: Permit<Publish>,
) -> Option<(Permit<Publish>, io::Result<(TcpStream, SocketAddr)>)> {
    let connecting = spawn_blocking(move || {
        let connected = inside.connect(&permit);
        (permit, connected)
    });
    let (permit, connected) = connecting.await.ok()?;
    Some((permit, connected.and_then(into_tokio)))
}

fn into_tokio(
    (stream, address): (std::net::TcpStream, SocketAddr),
) -> io::Result<(TcpStream, SocketAddr)> {
    stream.set_nonblocking(true)?;
    // Small messages must not wait for each other; it is no harm if that fails.
    let _ = stream.set_nodelay(true);
    Ok((TcpStream::from_std(stream)?, address))
}

async fn carry(gate: &Gate, meter: &Meter, mut client: TcpStream, mut server: TcpStream) -> Ended {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    // Whose fault a broken pipe is, is told from the side of whoever connected.
    let both = async {
        tokio::try_join!(
            async {
                let ended = pump(gate, meter, Way::In, &mut from_client, &mut to_server).await;
                ended.map_err(|broken| broken.ended(Way::Out))
            },
            async {
                let ended = pump(gate, meter, Way::Out, &mut from_server, &mut to_client).await;
                ended.map_err(|broken| broken.ended(Way::In))
            },
        )
    };
    tokio::select! {
        ended = both => ended.map_or_else(|ended| ended, |_| How::Closed.into()),
        () = gate.stopped() => How::Stopped.into(),
    }
}
