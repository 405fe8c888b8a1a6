//! SOCKS5 clients: greeting, request, and then the connection.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::action::asked;
use super::wire::{NO_AUTHENTICATION, NO_METHOD, Reply, Request, SocksError, greeting};
use crate::gate::Gate;
use crate::record::Via;
use crate::session::Session;
use crate::tunnel::{self, farewell};

/// Longest greeting or request, in bytes.
const MAX: usize = 512;

/// Serves one client, whose first bytes are in `bytes`.
pub(crate) async fn serve(gate: Arc<Gate>, mut client: TcpStream, mut bytes: Vec<u8>) {
    let read = gate.in_time(gate.limits.head, request(&mut client, &mut bytes)).await;
    let request = match read {
        Ok(Ok(Some(request))) => request,
        Ok(Err(error)) => {
            gate.malformed(Via::Socks, &error, &bytes).await;
            let answer = match error {
                SocksError::Method => NO_METHOD.to_vec(),
                error => error.reply().bytes().to_vec(),
            };
            return farewell(&mut client, &answer).await;
        }
        // The client is gone, or too slow, or it is too late.
        Ok(Ok(None)) | Err(_) => return,
    };
    match Session::open(&gate, asked(request), Via::Socks).await {
        Ok((session, upstream)) => {
            // If the client is gone, its first read says so.
            let _ = client.write_all(&Reply::Succeeded.bytes()).await;
            tunnel::serve(session, client, upstream, bytes).await;
        }
        Err(denial) => farewell(&mut client, &denial.reply().bytes()).await,
    }
}

/// Reads greeting and request; what follows them stays in `bytes`. None if the client is done.
async fn request(
    client: &mut TcpStream,
    bytes: &mut Vec<u8>,
) -> Result<Option<Request>, SocksError> {
    let length = loop {
        if let Some(length) = greeting(bytes)? {
            break length;
        }
        if !more(client, bytes).await? {
            return Ok(None);
        }
    };
    bytes.drain(..length);
    if client.write_all(&NO_AUTHENTICATION).await.is_err() {
        return Ok(None);
    }
    loop {
        if let Some((request, length)) = Request::parse(bytes)? {
            bytes.drain(..length);
            return Ok(Some(request));
        }
        if !more(client, bytes).await? {
            return Ok(None);
        }
    }
}

async fn more(client: &mut TcpStream, bytes: &mut Vec<u8>) -> Result<bool, SocksError> {
    if bytes.len() > MAX {
        return Err(SocksError::Malformed);
    }
    Ok(matches!(client.read_buf(bytes).await, Ok(1..)))
}
