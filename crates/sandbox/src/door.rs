//! Connections into a sandbox, to the ports that its authority publishes.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use broker::Permit;
use confine::door::{Knock, Loopback, Opened};
use confine::protocol::Channel;
use policy::Publish;
use rustix::event::{PollFd, PollFlags, Timespec};

/// How long a program that listens may take to have room for one more.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// The way in. Init answers as long as the sandbox stands.
#[derive(Debug)]
pub struct Door(Mutex<Channel>);

impl Door {
    pub(crate) fn new(channel: Channel) -> Self {
        Self(Mutex::new(channel))
    }

    /// Connects to the permitted port at either loopback address of the sandbox, 127.0.0.1 first,
    /// and says which it was. It may take seconds, and should be called where that is no harm.
    ///
    /// # Errors
    /// `ECONNREFUSED` when nothing listens there.
    pub fn connect(&self, permit: &Permit<Publish>) -> io::Result<(TcpStream, SocketAddr)> {
        let port = permit.act().port.number();
        match self.connect_at(Loopback::V4, port) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // Where there is no ::1 inside, the first answer is the better one.
                self.connect_at(Loopback::V6, port).map_err(|_| error)
            }
            connected => connected,
        }
    }

    fn connect_at(&self, at: Loopback, port: u16) -> io::Result<(TcpStream, SocketAddr)> {
        let stream = TcpStream::from(self.knock(Knock { port, at })?);
        wait_until_connected(&stream)?;
        match stream.take_error()? {
            Some(error) => Err(error),
            None => Ok((stream, at.with(port))),
        }
    }

    fn knock(&self, knock: Knock) -> io::Result<OwnedFd> {
        // A thread that died while it knocked has left the channel unusable, which the next finds.
        let channel = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(&knock, &[])?;
        let (Opened { errno }, sockets) = channel.receive()?;
        match (errno, sockets.into_iter().next()) {
            (Some(errno), _) => Err(io::Error::from_raw_os_error(errno)),
            (None, Some(socket)) => Ok(socket),
            (None, None) => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn wait_until_connected(stream: &TcpStream) -> io::Result<()> {
    let mut source = [PollFd::new(stream, PollFlags::OUT)];
    loop {
        match rustix::event::poll(&mut source, Some(&PATIENCE)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
