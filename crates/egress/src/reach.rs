//! What the grants say about reaching one destination. No I/O.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use names::{AddressClass, Host, Port};
use policy::{Action, AddressRange, Authority, Connect, Match, NetworkGrant, Outcome};

use crate::meter::Budget;
use crate::tunnel::http_port;

/// The ports on which a sandbox under this authority needs a transparent listener, sorted. Where a
/// rule leaves the port open, these are HTTP's and HTTPS's; any other is reached through the proxy.
#[must_use]
pub fn transparent_ports(authority: &Authority) -> Vec<Port> {
    let grants = authority.network.iter().map(|grant| &grant.target);
    let rules = authority.rules.iter().filter(|rule| rule.verdict != Outcome::Deny);
    let opened = rules.filter_map(|rule| match &rule.when {
        Match::Connect(target) | Match::Http(target) => Some(target),
        _ => None,
    });
    let usual = [http_port(), Port::HTTPS];
    let mut ports: Vec<Port> = grants
        .chain(opened)
        .filter(|target| !target.is_empty())
        .flat_map(|target| target.ports.as_deref().unwrap_or(&usual).iter().copied())
        .collect();
    ports.sort();
    ports.dedup();
    ports
}

/// Where a destination may be, and how much may pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reach {
    /// Addresses that are allowed though they are not public.
    pins: Vec<AddressRange>,
    /// Where to connect instead of looking the name up.
    pub(crate) dial: Option<SocketAddr>,
    /// Files with certificates that vouch for it.
    pub(crate) ca_files: Vec<PathBuf>,
    /// Caps; empty if one of the grants has none.
    pub(crate) budgets: Vec<Arc<Budget>>,
}

/// Why an address is not dialled, nor any other of the same answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Barred {
    #[error("the name leads to {0}, a {1} address")]
    NotPublic(IpAddr, AddressClass),
    #[error("the name leads to {0}, an address of this machine")]
    Own(IpAddr),
    #[error("the name leads to {0}, which the rule {1} denies")]
    Denied(IpAddr, String),
}

impl Reach {
    /// `budgets` are those of the authority's grants, in their order.
    pub(crate) fn of(
        authority: &Authority,
        connect: &Connect,
        budgets: &[Option<Arc<Budget>>],
    ) -> Self {
        let grants = authority.grants_for(connect);
        let mine = |grant: &&NetworkGrant| grants.iter().any(|other| std::ptr::eq(*other, *grant));
        let caps: Option<Vec<Arc<Budget>>> = authority
            .network
            .iter()
            .zip(budgets)
            .filter(|(grant, _)| mine(grant))
            .map(|(_, budget)| budget.clone())
            .collect();
        Self {
            pins: grants.iter().flat_map(|grant| grant.addresses.iter().copied()).collect(),
            dial: grants.iter().find_map(|grant| grant.dial),
            ca_files: grants.iter().filter_map(|grant| grant.ca_file.clone()).collect(),
            budgets: caps.unwrap_or_default(),
        }
    }

    /// Whether all of an answer may be dialled. One address that may not be condemns the rest: an
    /// honest name doesn't mix them.
    pub(crate) fn check(
        &self,
        authority: &Authority,
        connect: &Connect,
        answer: &[IpAddr],
        is_own: impl Fn(IpAddr) -> bool,
    ) -> Result<(), Barred> {
        answer.iter().try_for_each(|address| {
            self.check_one(*address, &is_own)?;
            denied_by_rule(authority, connect, *address)
        })
    }

    fn check_one(&self, address: IpAddr, is_own: &impl Fn(IpAddr) -> bool) -> Result<(), Barred> {
        if self.pins.iter().any(|pin| pin.contains(address)) {
            return Ok(());
        }
        let class = AddressClass::of(address);
        if !class.is_global_unicast() {
            return Err(Barred::NotPublic(address, class));
        }
        if is_own(address) { Err(Barred::Own(address)) } else { Ok(()) }
    }
}

/// A rule that denies connections to an address holds for names that lead there.
fn denied_by_rule(authority: &Authority, connect: &Connect, address: IpAddr) -> Result<(), Barred> {
    let host = Host::from_address(address.to_canonical());
    let there = Action::Connect(Connect { host, port: connect.port });
    let verdict = authority.decide(&there);
    let by_rule =
        |cause: &&policy::Cause| cause.says == Outcome::Deny && !cause.rule.starts_with("default ");
    match verdict.decided_by.iter().find(by_rule) {
        Some(cause) => Err(Barred::Denied(address, cause.rule.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_barred_unless_pinned() {
        let own: IpAddr = [93, 184, 216, 34].into();
        let is_own = |address| address == own;
        let mut reach = Reach::default();
        assert_eq!(reach.check_one(own, &is_own), Err(Barred::Own(own)));
        assert_eq!(reach.check_one([1, 1, 1, 1].into(), &is_own), Ok(()));
        reach.pins.extend(AddressRange::parse("93.184.216.34"));
        assert_eq!(reach.check_one(own, &is_own), Ok(()));
    }
}
