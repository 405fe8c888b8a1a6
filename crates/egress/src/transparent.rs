//! Connections to synthetic addresses: the address tells the name, the port is the port.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use names::{Host, Port};
use policy::Connect;
use tokio::net::TcpStream;

use crate::gate::{Gate, lock};
use crate::record::Via;
use crate::session::Session;
use crate::tunnel::{self, explain};

/// Serves one client, which connected to `to`.
pub(crate) async fn serve(gate: Arc<Gate>, client: TcpStream, to: SocketAddr) {
    let Some(connect) = destination(&gate, to) else {
        let why = format!("{to} stands for no name");
        return gate.malformed(Via::Transparent, &why, &[]).await;
    };
    match Session::open(&gate, connect.clone(), Via::Transparent).await {
        Ok((session, upstream)) => tunnel::serve(session, client, upstream, Vec::new()).await,
        Err(denial) => explain(&gate, client, connect, denial).await,
    }
}

fn destination(gate: &Gate, to: SocketAddr) -> Option<Connect> {
    let IpAddr::V4(address) = to.ip().to_canonical() else { return None };
    let host: Host = lock(&gate.table).name(address)?.clone();
    Some(Connect { host, port: Port::try_from(to.port()).ok()? })
}
