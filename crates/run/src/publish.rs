//! Published ports: taken on this machine before anything runs, and served while the run goes on.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use api::{Problem, exit};
use broker::Permit;
use egress::{Entrance, Inside, Published};
use names::Port;
use policy::{Action, Authority, Outcome, Publication, Publish};
use sandbox::Door;

use crate::problem::{rule_ref, unsafe_because};

/// The ports of this machine that a run has taken.
pub(crate) struct Taken(Vec<Published>);

impl Taken {
    /// Takes what the authority publishes.
    ///
    /// # Errors
    /// A port that a rule denies, or that something else on this machine has.
    pub(crate) fn take(authority: &Authority) -> Result<Self, Problem> {
        let published = |publication: &Publication| {
            refuse_denied(authority, publication.port)?;
            let listeners = listen(publication.outside)?;
            Ok(Published { port: publication.port, listeners })
        };
        authority.publish.iter().map(published).collect::<Result<_, _>>().map(Self)
    }

    /// Lets clients in.
    pub(crate) fn open(self, door: Door) -> Entrance {
        Entrance { inside: Arc::new(Through(door)), ports: self.0 }
    }
}

/// Asking is for each connection; what is denied anyway would be published for nothing.
fn refuse_denied(authority: &Authority, port: Port) -> Result<(), Problem> {
    let verdict = authority.decide(&Action::from(Publish { port }));
    if verdict.outcome != Outcome::Deny {
        return Ok(());
    }
    let what = format!("port {port} can't be published: {}", verdict.reason);
    let problem = Problem::new(exit::DENIED, what).with_next("leave --publish out");
    Err(match verdict.decided_by.first() {
        Some(cause) => problem.with_rule(rule_ref(cause)),
        None => problem,
    })
}

/// Both loopback addresses, because clients take either for `localhost`. A machine need not have
/// the second.
fn listen(port: Port) -> Result<Vec<TcpListener>, Problem> {
    let v4 = at((Ipv4Addr::LOCALHOST, port.number()).into())?;
    let v6 = at((Ipv6Addr::LOCALHOST, port.number()).into())?;
    if v4.is_none() {
        return Err(unsafe_because("this machine has no address 127.0.0.1"));
    }
    Ok(v4.into_iter().chain(v6).collect())
}

/// `None` where there is no such address.
fn at(address: SocketAddr) -> Result<Option<TcpListener>, Problem> {
    match TcpListener::bind(address) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Ok(None),
        Err(error) if is_missing_family(&error) => Ok(None),
        Err(error) => {
            let what = format!("{address} can't be published: {error}");
            let next = "free it, or choose another with --publish HOST_PORT:PORT";
            Err(unsafe_because(what).with_next(next))
        }
    }
}

fn is_missing_family(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

/// The sandbox's door, as the gate sees it.
struct Through(Door);

impl Inside for Through {
    fn connect(&self, permit: &Permit<Publish>) -> io::Result<(TcpStream, SocketAddr)> {
        self.0.connect(permit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_named() {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = other.local_addr().unwrap();
        let problem = listen(Port::try_from(address.port()).unwrap()).unwrap_err();
        assert_eq!(problem.code, exit::UNSAFE);
        assert!(problem.what.starts_with(&format!("{address} can't be published")), "{problem:?}");
    }
}
