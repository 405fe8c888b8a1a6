//! The name server: datagrams and connections in, answers out. It asks nobody else.

use std::sync::Arc;

use policy::{Action, Outcome, Resolve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::action::{Asked, about, asked};
use super::wire::{Answer, Kind, Query, refusal};
use crate::gate::{Gate, lock};
use crate::record::{Note, Via};

/// Most bytes of a query; a longer datagram is cut off, and so malformed.
const MAX_QUERY: usize = 2048;

/// Answers datagrams until the gate stops.
pub(crate) async fn serve_datagrams(gate: Arc<Gate>, socket: UdpSocket) {
    let mut buffer = vec![0; MAX_QUERY];
    loop {
        let received = tokio::select! {
            received = socket.recv_from(&mut buffer) => received,
            () = gate.stopped() => return,
        };
        // An error is about an answer that could not be delivered, and is the client's loss.
        let Ok((length, client)) = received else { continue };
        let query = buffer.get(..length).unwrap_or_default();
        if let Some(answer) = answer(&gate, query).await {
            let _ = socket.send_to(&answer, client).await;
        }
    }
}

/// Answers the queries of one connection (RFC 7766), one after another.
pub(crate) async fn serve_connection(gate: Arc<Gate>, mut client: TcpStream) {
    loop {
        let query = tokio::select! {
            query = timeout(gate.limits.head, read_query(&mut client)) => query,
            () = gate.stopped() => return,
        };
        let Ok(Ok(query)) = query else { return };
        let Some(answer) = answer(&gate, &query).await else { return };
        let length = u16::try_from(answer.len()).unwrap_or_default();
        if client.write_all(&[&length.to_be_bytes()[..], &answer].concat()).await.is_err() {
            return;
        }
    }
}

async fn read_query(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let length = usize::from(client.read_u16().await?).min(MAX_QUERY);
    let mut query = vec![0; length];
    client.read_exact(&mut query).await?;
    Ok(query)
}

async fn answer(gate: &Arc<Gate>, bytes: &[u8]) -> Option<Vec<u8>> {
    let query = match Query::parse(bytes) {
        Ok(query) => query,
        Err(error) => {
            gate.malformed(Via::Names, &error, bytes).await;
            return refusal(bytes);
        }
    };
    let answer = match asked(&query) {
        Asked::Known(answer) => answer,
        Asked::Address(address) => {
            let name = lock(&gate.table).name(address).map(ToString::to_string);
            let is_plain = matches!(query.kind, Kind::Ptr | Kind::Any);
            let found =
                name.map(|name| if is_plain { Answer::Name(name) } else { Answer::Nothing });
            found.unwrap_or(Answer::Refused)
        }
        Asked::Name(resolve, kind) => about_name(gate, resolve, kind).await,
        Asked::Never(error) => {
            never(gate, &query.name, &error).await;
            Answer::Refused
        }
    };
    Some(query.answer(&answer))
}

/// A name that can be looked up needs no permit: nothing leaves. The connection will.
async fn about_name(gate: &Arc<Gate>, resolve: Resolve, kind: Kind) -> Answer {
    let host = resolve.host.clone();
    let known = lock(&gate.table).known(&host);
    if let Some(address) = known {
        return about(kind, address);
    }
    if !is_allowed(gate, resolve).await {
        return Answer::Refused;
    }
    let address = lock(&gate.table).address(&host);
    address.map_or(Answer::Refused, |address| about(kind, address))
}

async fn is_allowed(gate: &Arc<Gate>, resolve: Resolve) -> bool {
    let action = Action::Resolve(resolve.clone());
    if gate.authority().decide(&action).outcome == Outcome::Allow {
        return true;
    }
    let note = lock(&gate.refused).note(resolve.host.as_str());
    match note {
        // Asking records the refusal; where the rule says ask, a person may allow it.
        Note::Record => gate.ask(resolve).await.is_ok(),
        Note::RecordFlood => {
            gate.flood("names", gate.limits.refused_names).await;
            false
        }
        Note::Count => false,
    }
}

async fn never(gate: &Arc<Gate>, name: &str, error: &names::NameError) {
    let note = lock(&gate.refused).note(name);
    match note {
        Note::Record => gate.malformed(Via::Names, error, name.as_bytes()).await,
        Note::RecordFlood => gate.flood("names", gate.limits.refused_names).await,
        Note::Count => {}
    }
}
