//! Query → what is asked of the authority. Pure.

use std::net::{Ipv4Addr, Ipv6Addr};

use names::{Host, NameError};
use policy::Resolve;

use super::wire::{Answer, Kind, Query};

/// What a query comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The answer is known without asking anybody.
    Known(Answer),
    /// About a name, if the authority allows it.
    Name(Resolve, Kind),
    /// The name of an address.
    Address(Ipv4Addr),
    /// It can't be a name that anybody could allow.
    Never(NameError),
}

/// What a query comes to.
pub(crate) fn asked(query: &Query) -> Asked {
    if let Some(answer) = localhost(query) {
        return Asked::Known(answer);
    }
    if let Some(address) = reverse(&query.name) {
        return Asked::Address(address);
    }
    match Host::parse(&query.name) {
        Ok(host) => Asked::Name(Resolve { host }, query.kind),
        Err(error) => Asked::Never(error),
    }
}

/// The answer about a name that is allowed and has this address.
pub(crate) fn about(kind: Kind, address: Ipv4Addr) -> Answer {
    match kind {
        Kind::A | Kind::Any => Answer::V4(address),
        Kind::Aaaa | Kind::Ptr | Kind::Other(_) => Answer::Nothing,
    }
}

/// The machine itself, which in the sandbox is the sandbox (RFC 6761 section 6.3).
fn localhost(query: &Query) -> Option<Answer> {
    let is_it = query.name == "localhost" || query.name.ends_with(".localhost");
    is_it.then_some(match query.kind {
        Kind::A | Kind::Any => Answer::V4(Ipv4Addr::LOCALHOST),
        Kind::Aaaa => Answer::V6(Ipv6Addr::LOCALHOST),
        Kind::Ptr | Kind::Other(_) => Answer::Nothing,
    })
}

/// `4.3.2.1.in-addr.arpa` → 1.2.3.4 (RFC 1035 section 3.5).
fn reverse(name: &str) -> Option<Ipv4Addr> {
    let digits = name.strip_suffix(".in-addr.arpa")?;
    let address: Ipv4Addr = digits.parse().ok()?;
    let [a, b, c, d] = address.octets();
    Some(Ipv4Addr::new(d, c, b, a))
}
