//! `HOST:PORT` in a request: of CONNECT, of a URL, of the `Host` field.

use std::fmt;
use std::net::IpAddr;

use names::{Host, NameError, Port};

use super::wire::HttpError;

/// A host and a port, canonical. Two name the same place exactly when they are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Authority {
    /// The host: a name, or an address in its canonical text.
    pub host: Host,
    /// The port.
    pub port: Port,
    /// Whether it is the port that goes without saying.
    implied: bool,
}

impl Authority {
    /// A place whose port goes without saying if it is `default`.
    #[must_use]
    pub fn new(host: Host, port: Port, default: Port) -> Self {
        Self { host, port, implied: port == default }
    }

    /// Reads `HOST` or `HOST:PORT`; `default` is the port if there is none.
    pub fn parse(text: &str, default: Port) -> Result<Self, HttpError> {
        let (host, port) = split(text);
        let port = port.map_or(Ok(default), Port::parse)?;
        Ok(Self::new(read_host(host)?, port, default))
    }

    /// Reads `HOST:PORT`; the port must be there.
    pub fn parse_with_port(text: &str) -> Result<Self, HttpError> {
        let (host, port) = split(text);
        let port = Port::parse(port.ok_or(HttpError::Target)?)?;
        Ok(Self { host: read_host(host)?, port, implied: false })
    }

    /// Is it this place?
    #[must_use]
    pub fn is(&self, host: &Host, port: Port) -> bool {
        self.host == *host && self.port == port
    }
}

/// The text before and after the colon of the port.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}

/// A name, or an address in canonical form: `203.0.113.7`, `[2001:db8::7]`.
pub(crate) fn read_host(text: &str) -> Result<Host, NameError> {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = match bracketed {
        Some(inner) => Host::parse_address(inner).ok().filter(is_v6),
        None => Host::parse_address(text).ok().filter(|host| !is_v6(host)),
    };
    address.map_or_else(|| Host::parse(text), Ok)
}

fn is_v6(host: &Host) -> bool {
    matches!(host.address(), Some(IpAddr::V6(_)))
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.address() {
            Some(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            _ => write!(f, "{}", self.host)?,
        }
        if self.implied { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}
