//! The ends of the network inside: listeners that leave the sandbox before anything runs in it.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use crate::plan::Network;
use crate::report::{During, Facility, Failure};

/// Where the name server is asked: the file `/etc/resolv.conf` of every sandbox says so.
const NAME_SERVER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 53);
const NAMES: u16 = 53;
/// Where a proxy is, for programs that prefer one.
const PROXY: u16 = 3128;

/// Opens the listeners of `network`: for names by datagram and by connection, for the proxy, and
/// for each port, on every address of the namespace.
///
/// # Errors
/// An address that can't be had.
pub(crate) fn open(network: &Network) -> Result<Vec<OwnedFd>, Failure> {
    sys::network::own_network(network.synthetic.0, network.synthetic.1)
        .during(Facility::Loopback, "own the synthetic addresses")?;
    listeners(network).during(Facility::Loopback, "listen inside")
}

fn listeners(network: &Network) -> io::Result<Vec<OwnedFd>> {
    let at = |port| SocketAddrV4::new(NAME_SERVER, port);
    let mut all: Vec<OwnedFd> = vec![
        UdpSocket::bind(at(NAMES))?.into(),
        TcpListener::bind(at(NAMES))?.into(),
        TcpListener::bind(at(PROXY))?.into(),
    ];
    for &port in &network.ports {
        all.push(TcpListener::bind(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?.into());
    }
    Ok(all)
}
