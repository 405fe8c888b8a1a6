//! The name server: datagrams and connections in, answers out. It asks nobody else.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use policy::{Action, Outcome, Resolve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Semaphore;

use super::action::{Asked, about, asked};
use super::wire::{Answer, Kind, Query, refusal};
use crate::gate::{Gate, lock};
use crate::record::{Note, Via};

/// Most bytes of a query; a longer datagram is cut off, and so malformed.
const MAX_QUERY: usize = 2048;

/// Queries that wait, for the disk or for a person, at a time; further ones are dropped, and come
/// again.
const WAITING: usize = 256;

/// Datagrams that are answered before anybody else has a turn.
const BATCH: usize = 64;

/// Answers datagrams until the gate stops.
pub(crate) async fn serve_datagrams(gate: Arc<Gate>, socket: UdpSocket) {
    let (socket, places) = (Arc::new(socket), Arc::new(Semaphore::new(WAITING)));
    let mut buffer = vec![0; MAX_QUERY];
    loop {
        tokio::select! {
            _ = socket.readable() => {}
            () = gate.stopped() => return,
        }
        for _ in 0..BATCH {
            match socket.try_recv_from(&mut buffer) {
                Ok((length, client)) => {
                    let query = buffer.get(..length).unwrap_or_default();
                    answer_datagram(&gate, &socket, &places, query, client);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // It is about an answer that could not be delivered, and is the client's loss.
                Err(_) => {}
            }
        }
        tokio::task::yield_now().await;
    }
}

fn answer_datagram(
    gate: &Arc<Gate>,
    socket: &Arc<UdpSocket>,
    places: &Arc<Semaphore>,
    query: &[u8],
    client: SocketAddr,
) {
    if let Some(answer) = quick_answer(gate, query) {
        // What doesn't fit into the kernel's buffer is lost, as datagrams are.
        let _ = socket.try_send_to(&answer, client);
        return;
    }
    let Ok(place) = places.clone().try_acquire_owned() else { return };
    let (gate, socket, query) = (gate.clone(), socket.clone(), query.to_vec());
    tokio::spawn(async move {
        if let Some(answer) = answer(&gate, &query).await {
            let _ = socket.send_to(&answer, client).await;
        }
        drop(place);
    });
}

/// The answer about a name that was asked for before.
fn quick_answer(gate: &Gate, bytes: &[u8]) -> Option<Vec<u8>> {
    let query = Query::parse(bytes).ok()?;
    let address = lock(&gate.table).known(&query.name)?;
    Some(query.answer(&about(query.kind, address)))
}

/// Answers the queries of one connection (RFC 7766), one after another.
pub(crate) async fn serve_connection(gate: Arc<Gate>, mut client: TcpStream) {
    loop {
        let query = gate.in_time(gate.limits.head, read_query(&mut client)).await;
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
    let known = lock(&gate.table).known(host.as_str());
    if let Some(address) = known {
        return about(kind, address);
    }
    if !is_allowed(gate, resolve, kind).await {
        return Answer::Refused;
    }
    let address = lock(&gate.table).address(&host);
    address.map_or(Answer::Refused, |address| about(kind, address))
}

async fn is_allowed(gate: &Arc<Gate>, resolve: Resolve, kind: Kind) -> bool {
    let action = Action::Resolve(resolve.clone());
    match gate.authority().decide(&action).outcome {
        Outcome::Allow => true,
        Outcome::Ask => asks(gate, resolve, kind).await,
        Outcome::Deny => {
            let note = lock(&gate.refused).note(resolve.host.as_str());
            match note {
                // It will be refused; asking records that.
                Note::Record => gate.ask(resolve).await.is_ok(),
                Note::RecordFlood => {
                    gate.flood("names", gate.limits.refused_names).await;
                    false
                }
                Note::Count => false,
            }
        }
    }
}

/// Asks a person about a name, one name at a time, and only for what the name has: clients ask
/// for both kinds of address at once.
async fn asks(gate: &Arc<Gate>, resolve: Resolve, kind: Kind) -> bool {
    if !matches!(kind, Kind::A | Kind::Any) {
        return false;
    }
    let turn = gate.asking.lock().await;
    let known = lock(&gate.table).known(resolve.host.as_str()).is_some();
    let allowed = known || gate.ask(resolve).await.is_ok();
    drop(turn);
    allowed
}

async fn never(gate: &Arc<Gate>, name: &str, error: &names::NameError) {
    let note = lock(&gate.refused).note(name);
    match note {
        Note::Record => gate.malformed(Via::Names, error, name.as_bytes()).await,
        Note::RecordFlood => gate.flood("names", gate.limits.refused_names).await,
        Note::Count => {}
    }
}
