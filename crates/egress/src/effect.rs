//! Resolves and dials: the one place where the gate touches the outside, and only with a permit.
//!
//! The name is resolved once, by the host's resolver. If any address of the answer may not be
//! dialled, none is. What is dialled is a checked address, never the name again.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use broker::Permit;
use names::Host;
use policy::{Authority, Connect};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::denial::{Denial, Whose};
use crate::intercept::Boxed;
use crate::reach::{Barred, Reach};

/// Until the next address is tried beside those that have not answered (RFC 8305 section 5).
const STAGGER: Duration = Duration::from_millis(250);
/// Most addresses of an answer that are tried.
const MOST: usize = 8;

/// Turns a name into addresses.
pub trait Resolver: Send + Sync + 'static {
    /// All addresses of `host`.
    fn resolve(&self, host: &Host) -> Boxed<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the machine that Loop runs on. Names are taken as they are: no search domain is
/// tried, so a name that doesn't exist never becomes another one.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostResolver;

impl Resolver for HostResolver {
    fn resolve(&self, host: &Host) -> Boxed<'static, io::Result<Vec<IpAddr>>> {
        let name = format!("{host}.");
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Why there is no connection to a destination.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("{0} can't be resolved: {1}")]
    Unresolved(Host, io::Error),
    #[error("{0} has no address")]
    NoAddress(Host),
    #[error("{0}")]
    Barred(#[from] Barred),
    #[error("{0}:{1} refuses the connection: {2}")]
    Refused(Host, u16, io::Error),
    #[error("{0}:{1} does not answer")]
    TimedOut(Host, u16),
}

impl From<&DialError> for Denial {
    fn from(error: &DialError) -> Self {
        let whose = match error {
            DialError::Barred(_) => Whose::Policy,
            DialError::TimedOut(..) => Whose::Time,
            _ => Whose::Destination,
        };
        let denial = Self::new(whose, error.to_string());
        match error {
            DialError::Barred(Barred::NotPublic(address, _) | Barred::Own(address)) => {
                denial.next(format!(
                    "if that is meant, the owner may add addresses = [\"{address}\"] to its grant"
                ))
            }
            _ => denial,
        }
    }
}

/// Connects to what `permit` allows.
pub(crate) async fn dial(
    permit: &Permit<Connect>,
    authority: &Authority,
    reach: &Reach,
    resolver: &dyn Resolver,
    limit: Duration,
) -> Result<(TcpStream, SocketAddr), DialError> {
    let connect = permit.act();
    let (host, port) = (&connect.host, connect.port.number());
    let connected = async {
        let places = places(connect, authority, reach, resolver).await?;
        race(places).await.map_err(|error| DialError::Refused(host.clone(), port, error))
    };
    let timed = timeout(limit, connected).await;
    timed.unwrap_or_else(|_| Err(DialError::TimedOut(host.clone(), port)))
}

async fn places(
    connect: &Connect,
    authority: &Authority,
    reach: &Reach,
    resolver: &dyn Resolver,
) -> Result<Vec<SocketAddr>, DialError> {
    let (host, port) = (&connect.host, connect.port.number());
    if let Some(place) = reach.dial {
        return Ok(vec![place]);
    }
    // Whoever allows an address has named that very one.
    if let Some(address) = host.address() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let unresolved = |error| DialError::Unresolved(host.clone(), error);
    let answer = resolver.resolve(host).await.map_err(unresolved)?;
    reach.check(authority, connect, &answer, is_own)?;
    if answer.is_empty() {
        return Err(DialError::NoAddress(host.clone()));
    }
    Ok(in_turn(&answer).map(|address| SocketAddr::new(address, port)).take(MOST).collect())
}

/// The families in turn, IPv6 first (RFC 8305 section 4).
fn in_turn(answer: &[IpAddr]) -> impl Iterator<Item = IpAddr> {
    let (six, four): (Vec<IpAddr>, Vec<IpAddr>) = answer.iter().partition(|ip| ip.is_ipv6());
    let longest = six.len().max(four.len());
    let pairs = (0..longest).flat_map(move |at| [six.get(at).copied(), four.get(at).copied()]);
    let mut turns: Vec<IpAddr> = Vec::new();
    for address in pairs.flatten() {
        if !turns.contains(&address) {
            turns.push(address);
        }
    }
    turns.into_iter()
}

/// Dials one after another, without waiting long for any; the first that answers wins.
async fn race(places: Vec<SocketAddr>) -> io::Result<(TcpStream, SocketAddr)> {
    let mut attempts = JoinSet::new();
    let mut waiting = places.into_iter();
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        let next = waiting.next();
        let was_last = next.is_none();
        if let Some(place) = next {
            attempts.spawn(async move { TcpStream::connect(place).await.map(|to| (to, place)) });
        }
        tokio::select! {
            done = attempts.join_next() => match done {
                Some(Ok(Ok(connected))) => return Ok(connected),
                Some(Ok(Err(error))) => failed = error,
                Some(Err(_)) => {}
                None if was_last => return Err(failed),
                None => {}
            },
            () = sleep(STAGGER), if !was_last => {}
        }
    }
}

/// Is it an address of this machine? No packet is sent to find out: one's own address can be bound
/// to, or is what the kernel would send from.
fn is_own(address: IpAddr) -> bool {
    // Where any address can be bound to (ip_nonlocal_bind), even one that nobody has, that says
    // nothing.
    let nobodys: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    let binds = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    (binds(address) && !binds(nobodys)) || source(address).is_ok_and(|from| from == address)
}

/// From where the kernel would send to `address`.
fn source(address: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((address, 9))?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_known() {
        for own in ["127.0.0.1", "127.18.0.9", "::1"] {
            assert!(is_own(own.parse().unwrap()), "{own}");
        }
        for other in ["203.0.113.7", "2001:db8::7"] {
            assert!(!is_own(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn families_take_turns() {
        let addresses = |list: &[&str]| -> Vec<IpAddr> {
            list.iter().map(|text| text.parse().unwrap()).collect()
        };
        let answer = addresses(&["1.1.1.1", "1.1.1.2", "2001::1", "1.1.1.1", "1.1.1.3"]);
        let turns: Vec<IpAddr> = in_turn(&answer).collect();
        assert_eq!(turns, addresses(&["2001::1", "1.1.1.1", "1.1.1.2", "1.1.1.3"]));
    }
}
