//! The explicit proxy: HTTP (CONNECT, or a URL) and SOCKS5 on one port, told apart by the first
//! byte.

use std::sync::Arc;

use policy::Connect;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::denial::{Denial, Whose};
use crate::gate::{Gate, Late};
use crate::http::action::{Asked, asked};
use crate::http::authority::Authority;
use crate::http::wire::{HttpError, RequestHead, is_worth_reading};
use crate::record::Via;
use crate::session::Session;
use crate::socks;
use crate::tunnel::{self, farewell, http_port};

const CHUNK: usize = 4 * 1024;
/// First byte of SOCKS, version 4 and 5. No method of HTTP starts with it.
const SOCKS: std::ops::RangeInclusive<u8> = 4..=5;
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves one client.
pub(crate) async fn serve(gate: Arc<Gate>, mut client: TcpStream) {
    let mut bytes = Vec::new();
    let first = gate.in_time(gate.limits.idle, first_bytes(&mut client, &mut bytes)).await;
    match bytes.first().filter(|_| first == Ok(true)) {
        Some(byte) if SOCKS.contains(byte) => {
            Box::pin(socks::serve::serve(gate, client, bytes)).await;
        }
        Some(_) => Box::pin(serve_http(gate, client, bytes)).await,
        None => {}
    }
}

/// Waits without a buffer; false if there is nothing to come.
async fn first_bytes(client: &mut TcpStream, bytes: &mut Vec<u8>) -> bool {
    if client.readable().await.is_err() {
        return false;
    }
    bytes.reserve(CHUNK);
    matches!(client.read_buf(bytes).await, Ok(1..))
}

async fn serve_http(gate: Arc<Gate>, mut client: TcpStream, mut bytes: Vec<u8>) {
    let read = gate.in_time(gate.limits.head, read_head(&mut client, &mut bytes)).await;
    let asked = match read {
        Ok(Ok(Some((head, length)))) => asked(head, length),
        Ok(Err(error)) => Err(error),
        Ok(Ok(None)) => Err(HttpError::Cut),
        Err(Late::Slow) => Err(HttpError::Slow),
        Err(Late::Stopped) => return,
    };
    match asked {
        Ok(Asked::Tunnel(authority, length)) => {
            bytes.drain(..length);
            let Some(opened) = open(&gate, &mut client, authority, Via::Connect).await else {
                return;
            };
            let (session, upstream) = opened;
            // If the client is gone, its first read says so.
            let _ = client.write_all(ESTABLISHED).await;
            Box::pin(tunnel::serve(session, client, upstream, bytes)).await;
        }
        Ok(Asked::Url(authority)) => {
            let Some(opened) = open(&gate, &mut client, authority, Via::Proxy).await else {
                return;
            };
            let (session, upstream) = opened;
            tunnel::serve_http(session, client, upstream, bytes).await;
        }
        Err(error) => {
            gate.malformed(Via::Proxy, &error, &bytes).await;
            let denial = Denial::new(Whose::Client, error.to_string());
            farewell(&mut client, &denial.response()).await;
        }
    }
}

/// Opens the connection, or tells the client why not.
async fn open(
    gate: &Arc<Gate>,
    client: &mut TcpStream,
    authority: Authority,
    via: Via,
) -> Option<(Session, TcpStream)> {
    let connect = Connect { host: authority.host, port: authority.port };
    match Session::open(gate, connect, via).await {
        Ok(opened) => Some(opened),
        Err(denial) => {
            farewell(client, &denial.response()).await;
            None
        }
    }
}

async fn read_head(
    client: &mut TcpStream,
    bytes: &mut Vec<u8>,
) -> Result<Option<(RequestHead, usize)>, HttpError> {
    let mut seen = 0;
    loop {
        if is_worth_reading(bytes, seen)
            && let Some(parsed) = RequestHead::parse(bytes, http_port())?
        {
            return Ok(Some(parsed));
        }
        seen = bytes.len();
        bytes.reserve(CHUNK);
        if !matches!(client.read_buf(bytes).await, Ok(1..)) {
            return Ok(None);
        }
    }
}
