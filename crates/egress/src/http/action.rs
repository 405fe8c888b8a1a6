//! Head → what is asked of the proxy, and of the authority. Pure.

use names::{Host, Port};
use policy::Http;

use super::authority::Authority;
use super::wire::{Framing, HttpError, RequestHead, Target};

/// What is asked of the proxy.
pub(crate) enum Asked {
    /// A tunnel; the head that asked for it has so many bytes.
    Tunnel(Authority, usize),
    /// A request to be sent on.
    Url(Authority),
}

/// What is asked of the proxy by this head, which has `length` bytes.
pub(crate) fn asked(head: RequestHead, length: usize) -> Result<Asked, HttpError> {
    match head.target {
        Target::Connect(authority) => {
            // A body would be the beginning of the tunnel to one reader, and not to another.
            let host_agrees = head.host.is_none_or(|host| host.host == authority.host);
            match (head.framing, host_agrees) {
                (Framing::None | Framing::Length(0), true) => Ok(Asked::Tunnel(authority, length)),
                (_, true) => Err(HttpError::Length),
                (_, false) => Err(HttpError::HostField),
            }
        }
        Target::Absolute(authority, _) => Ok(Asked::Url(authority)),
        Target::Origin(_) | Target::Server => Err(HttpError::Target),
    }
}

/// Every place that a request names: in its URL, and in its host field. One at least.
pub(crate) fn stated(head: &RequestHead) -> Result<Vec<&Authority>, &'static str> {
    let in_target = match &head.target {
        Target::Absolute(authority, _) => Some(authority),
        Target::Connect(_) => return Err("CONNECT within a connection"),
        Target::Origin(_) | Target::Server => None,
    };
    let stated: Vec<&Authority> = in_target.into_iter().chain(&head.host).collect();
    if stated.is_empty() { Err("the request names no host") } else { Ok(stated) }
}

/// A request, as the authority decides about it.
pub(crate) fn request(host: &Host, port: Port, method: &str, path: &str) -> Http {
    Http { host: host.clone(), port, method: method.to_owned(), path: path.to_owned() }
}
