//! SOCKS5 (RFC 1928): hostile bytes → [`Request`]. No I/O.
//!
//! Only CONNECT, and no authentication: who can reach the listener is in the sandbox.

use std::net::{Ipv4Addr, Ipv6Addr};

use names::{Host, NameError, Port};

const VERSION: u8 = 5;
const CONNECT: u8 = 1;

/// Why bytes are not SOCKS5 as the gate speaks it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SocksError {
    /// Another version.
    #[error("it is not SOCKS version 5")]
    Version,
    /// The client doesn't offer to go without authentication.
    #[error("the client insists on authentication")]
    Method,
    /// BIND or UDP ASSOCIATE.
    #[error("the command is not CONNECT")]
    Command,
    /// No address type there is.
    #[error("the type of the address is unknown")]
    AddressType,
    /// A reserved byte that is not zero, an empty list.
    #[error("the SOCKS request is malformed")]
    Malformed,
    /// A host or port that isn't one.
    #[error("{0}")]
    Name(#[from] NameError),
}

/// The answer to a request (RFC 1928 section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Go on.
    Succeeded = 0,
    /// It is ours.
    Failure = 1,
    /// By the rules.
    NotAllowed = 2,
    /// The destination can't be reached.
    HostUnreachable = 4,
    /// It took too long.
    TtlExpired = 6,
    /// Not CONNECT.
    CommandNotSupported = 7,
    /// Not an address type there is.
    AddressTypeNotSupported = 8,
}

impl Reply {
    /// The bytes to send. The bound address is nobody's business.
    #[must_use]
    pub fn bytes(self) -> [u8; 10] {
        [VERSION, self as u8, 0, 1, 0, 0, 0, 0, 0, 0]
    }
}

impl SocksError {
    /// The reply that says so.
    #[must_use]
    pub fn reply(&self) -> Reply {
        match self {
            Self::Command => Reply::CommandNotSupported,
            Self::AddressType => Reply::AddressTypeNotSupported,
            Self::Name(_) => Reply::NotAllowed,
            Self::Version | Self::Method | Self::Malformed => Reply::Failure,
        }
    }
}

/// The answer to a greeting: no authentication, or none of what was offered.
pub const NO_AUTHENTICATION: [u8; 2] = [VERSION, 0];
/// The answer to a greeting that doesn't offer that.
pub const NO_METHOD: [u8; 2] = [VERSION, 0xff];

/// Reads the greeting at the start of `bytes` and says how long it is; `None` if it isn't whole.
pub fn greeting(bytes: &[u8]) -> Result<Option<usize>, SocksError> {
    match bytes {
        [] | [VERSION] => Ok(None),
        [VERSION, 0, ..] => Err(SocksError::Malformed),
        [VERSION, count, rest @ ..] => {
            let Some(methods) = rest.get(..usize::from(*count)) else { return Ok(None) };
            let length = 2 + methods.len();
            methods.contains(&0).then_some(Some(length)).ok_or(SocksError::Method)
        }
        _ => Err(SocksError::Version),
    }
}

/// Whom a client wants to be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The host: a name, or an address.
    pub host: Host,
    /// The port.
    pub port: Port,
}

impl Request {
    /// Reads the request at the start of `bytes` and says how long it is; `None` if it isn't
    /// whole.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, SocksError> {
        let [version, command, reserved, kind, rest @ ..] = bytes else {
            return match bytes.first() {
                None | Some(&VERSION) => Ok(None),
                Some(_) => Err(SocksError::Version),
            };
        };
        match (*version, *command, *reserved) {
            (VERSION, CONNECT, 0) => destination(*kind, rest),
            (VERSION, CONNECT, _) => Err(SocksError::Malformed),
            (VERSION, _, _) => Err(SocksError::Command),
            _ => Err(SocksError::Version),
        }
    }
}

fn destination(kind: u8, rest: &[u8]) -> Result<Option<(Request, usize)>, SocksError> {
    let (host, after, length) = match (kind, rest) {
        (1, [a, b, c, d, after @ ..]) => {
            (Host::from_address(Ipv4Addr::new(*a, *b, *c, *d).into()), after, 4)
        }
        (3, [0, ..]) => return Err(SocksError::Malformed),
        (3, [count, after @ ..]) => {
            let Some((name, after)) = after.split_at_checked(usize::from(*count)) else {
                return Ok(None);
            };
            // A port must come too before anything is said about the name.
            if after.len() < 2 {
                return Ok(None);
            }
            (read_name(name)?, after, 1 + name.len())
        }
        (4, bytes) => {
            let Some((address, after)) = bytes.split_first_chunk::<16>() else { return Ok(None) };
            (Host::from_address(Ipv6Addr::from(*address).into()), after, 16)
        }
        (1 | 3, _) => return Ok(None),
        _ => return Err(SocksError::AddressType),
    };
    let [high, low, ..] = after else { return Ok(None) };
    let port = Port::try_from(u16::from_be_bytes([*high, *low]))?;
    Ok(Some((Request { host, port }, 4 + length + 2)))
}

/// A name; an address written as a name is one only in its canonical text.
fn read_name(name: &[u8]) -> Result<Host, SocksError> {
    let text = str::from_utf8(name).map_err(|_| SocksError::Malformed)?;
    Ok(crate::http::authority::read_host(text)?)
}
