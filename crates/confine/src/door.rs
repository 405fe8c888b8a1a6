//! The way in: connections to published ports, made inside and passed out connected, so that
//! nothing relays inside.
//!
//! The control plane knocks over a socket of its own that only init has; nothing else in the
//! sandbox can knock, and init opens no port but those that the plan publishes.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};

use crate::protocol::Channel;

/// Asks for a connection inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knock {
    /// The published port.
    pub port: u16,
    /// Which of the two loopback addresses.
    pub at: Loopback,
}

/// A loopback address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loopback {
    /// 127.0.0.1
    V4,
    /// ::1
    V6,
}

impl Loopback {
    /// This address with a port.
    #[must_use]
    pub fn with(self, port: u16) -> SocketAddr {
        match self {
            Self::V4 => (Ipv4Addr::LOCALHOST, port).into(),
            Self::V6 => (Ipv6Addr::LOCALHOST, port).into(),
        }
    }
}

/// The answer to a [`Knock`]. Without an error a socket comes along: it does not block, and its
/// connection may still be on the way, connect(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The kernel's error number, if there is no socket.
    pub errno: Option<i32>,
}

/// Init's side.
#[derive(Debug)]
pub(crate) struct Door {
    channel: Channel,
    ports: Vec<u16>,
}

impl Door {
    pub(crate) fn new(channel: Channel, ports: Vec<u16>) -> Self {
        Self { channel, ports }
    }

    /// Answers the next knock.
    ///
    /// # Errors
    /// When nobody will knock any more.
    pub(crate) fn answer(&self) -> io::Result<()> {
        let (knock, _) = self.channel.receive::<Knock>()?;
        let socket = self.open(knock);
        let errno = socket.as_ref().err().map(|errno| errno.raw_os_error());
        let socket = socket.as_ref().ok().map(AsFd::as_fd);
        self.channel.send(&Opened { errno }, socket.as_slice())
    }

    /// Never waits: a program that listens and does not accept must not hold init up.
    fn open(&self, Knock { port, at }: Knock) -> Result<OwnedFd, Errno> {
        if !self.ports.contains(&port) {
            return Err(Errno::ACCESS);
        }
        let family = match at {
            Loopback::V4 => AddressFamily::INET,
            Loopback::V6 => AddressFamily::INET6,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&socket, &at.with(port)) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(errno) => Err(errno),
        }
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
