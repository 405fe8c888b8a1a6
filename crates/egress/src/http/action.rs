//! Head → what is asked of the proxy, and of the authority. Pure.

use std::io;

use names::{Digest, Host, Port};
use policy::Http;
use ring::rand::{SecureRandom as _, SystemRandom};

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

/// What queries are known by. They may hold anything, and records are for ever, so what is asked and
/// recorded is a digest; under a key of this gate's own, so that nobody can try what it may be of.
pub(crate) struct QueryKey([u8; 32]);

impl QueryKey {
    /// # Errors
    /// When the system has no random numbers.
    pub(crate) fn fresh() -> io::Result<Self> {
        let mut key = [0; 32];
        let filled = SystemRandom::new().fill(&mut key);
        filled.map_err(|_| io::Error::other("no random numbers"))?;
        Ok(Self(key))
    }

    fn digest(&self, query: &str) -> Digest {
        Digest::of_parts("loop-query-v1", &[&self.0, query.as_bytes()])
    }

    /// A request, as the authority decides about it. `target` is its path and its query.
    pub(crate) fn request(&self, host: &Host, port: Port, method: &str, target: &str) -> Http {
        let (path, query) = match target.split_once(['?', '#']) {
            Some((path, query)) => (path, Some(self.digest(query))),
            None => (target, None),
        };
        let (method, path) = (method.to_owned(), path.to_owned());
        Http { host: host.clone(), port, method, path, query }
    }
}
