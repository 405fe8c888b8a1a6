//! The exec protocol: what the control plane and the sandbox's init say to each other.
//!
//! One inherited stream socket, frames of a length and a JSON message, descriptors attached to the
//! frame's first byte. One method a message. Init believes the control plane; the control plane
//! treats what it reads as outside data: capped, typed, never trusted to be there.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exact::Exact;
use crate::plan::Plan;
use crate::report::{Enforcement, Failure};

/// The largest frame in bytes: larger than any argument list that the kernel accepts.
const LARGEST_FRAME: u32 = 32 << 20;
/// The most descriptors that one frame carries.
const MOST_DESCRIPTORS: usize = 200;

/// What the control plane tells init.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// Become this sandbox. The first order, sent once. If the plan publishes ports, the socket
    /// comes along over which they are knocked at.
    Confine(Box<Plan>),
    /// Start a command. Its standard streams that are not the terminal come as descriptors, in order.
    Start(Command),
    /// Send a signal to a command's process group.
    Signal {
        /// Which command.
        command: u32,
        /// The signal's number.
        signal: i32,
    },
}

/// A command to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// A number of the control plane's choice that no running command of this sandbox has.
    pub id: u32,
    /// Program and arguments; the program is looked up in the `PATH` of `environment`.
    pub args: Vec<Exact>,
    /// `NAME=value`, the whole environment.
    pub environment: Vec<Exact>,
    /// Working directory inside.
    pub directory: Exact,
    /// File mode creation mask.
    pub umask: u32,
    /// A new terminal for some of the standard streams.
    pub terminal: Option<Terminal>,
}

/// A terminal that init makes for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// Rows and columns at the start.
    pub rows: u16,
    /// Columns.
    pub columns: u16,
    /// Which of standard input, output and error are this terminal.
    pub streams: [bool; 3],
}

/// What init tells the control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Report {
    /// The sandbox stands, and this was measured from inside. If the plan mediates anything, the
    /// listener comes along, and then a way to change each of the mediated trees; then, if it has
    /// a network, the listeners for names by datagram and connection, for the proxy, and for each
    /// port.
    Confined(Enforcement),
    /// It could not be built; nothing was started.
    Failed(Failure),
    /// A command runs. The terminal's other side comes along when one was asked for.
    Started {
        /// Which command.
        command: u32,
    },
    /// A command could not be started.
    NotStarted {
        /// Which command.
        command: u32,
        /// What was being done.
        during: Stage,
        /// The kernel's error number.
        errno: i32,
    },
    /// A command ended.
    Ended {
        /// Which command.
        command: u32,
        /// How.
        ending: Ending,
    },
    /// A watched limit was reached; init ends everything after saying so.
    LimitReached(WatchedLimit),
}

/// The part of starting a command that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Making the terminal or the process.
    Prepare,
    /// Entering the working directory.
    Directory,
    /// Finding or executing the program.
    Execute,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It returned this code.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

/// A limit that init watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchedLimit {
    /// Memory of all processes.
    Memory,
    /// Number of processes and threads.
    Processes,
}

/// One end of the socket between the control plane and init.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// Speaks over this connected stream socket.
    #[must_use]
    pub fn over(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Tells init something.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] when the other side is gone.
    pub fn order(&self, order: &Order, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send(order, descriptors)
    }

    /// Waits for the next order.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the control plane is gone.
    pub fn next_order(&self) -> io::Result<(Order, Vec<OwnedFd>)> {
        self.receive()
    }

    /// Tells the control plane something.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] when the other side is gone.
    pub fn report(&self, report: &Report, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send(report, descriptors)
    }

    /// Waits for the next report.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when init is gone, [`io::ErrorKind::InvalidData`] when it
    /// sends what no init sends.
    pub fn next_report(&self) -> io::Result<(Report, Vec<OwnedFd>)> {
        self.receive()
    }

    /// Sends any other message, in the same frames.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] when the other side is gone.
    pub fn send(&self, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let body = serde_json::to_vec(message)?;
        let length = u32::try_from(body.len()).ok().filter(|&n| n <= LARGEST_FRAME);
        let head = length.ok_or(io::ErrorKind::InvalidInput)?.to_le_bytes();
        self.send_head(&head, descriptors)?;
        let mut rest = body.as_slice();
        while !rest.is_empty() {
            let sent = retry(|| rustix::net::send(&self.0, rest, SendFlags::NOSIGNAL))?;
            rest = rest.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    fn send_head(&self, head: &[u8; 4], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let head = [IoSlice::new(head)];
        // Four bytes into a stream socket are taken whole or not at all.
        retry(|| rustix::net::sendmsg(&self.0, &head, &mut control, SendFlags::NOSIGNAL)).map(drop)
    }

    /// Waits for any other message.
    ///
    /// # Errors
    /// As [`Channel::next_report`].
    pub fn receive<T: DeserializeOwned>(&self) -> io::Result<(T, Vec<OwnedFd>)> {
        let mut head = [0_u8; 4];
        let descriptors = self.receive_head(&mut head)?;
        let length = u32::from_le_bytes(head);
        if length > LARGEST_FRAME {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too large"));
        }
        let mut body = vec![0_u8; usize::try_from(length).map_err(io::Error::other)?];
        self.receive_exactly(&mut body)?;
        let message = serde_json::from_slice(&body)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok((message, descriptors))
    }

    fn receive_head(&self, head: &mut [u8; 4]) -> io::Result<Vec<OwnedFd>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let count = retry(|| {
            let mut into = [IoSliceMut::new(head)];
            rustix::net::recvmsg(&self.0, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC)
                .map(|message| message.bytes)
        })?;
        let mut descriptors = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.receive_exactly(head.get_mut(count..).unwrap_or_default())?;
        Ok(descriptors)
    }

    fn receive_exactly(&self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let count = retry(|| rustix::io::read(&self.0, &mut *buffer))?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = buffer.get_mut(count..).unwrap_or_default();
        }
        Ok(())
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn pair() -> (Channel, Channel) {
        let (a, b) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .unwrap();
        (Channel::over(a), Channel::over(b))
    }

    #[test]
    fn a_message_arrives_with_its_descriptors() {
        let (control, init) = pair();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let order = Order::Signal { command: 7, signal: 15 };
        control.order(&order, &[writer.as_fd()]).unwrap();
        let (received, descriptors) = init.next_order().unwrap();
        assert_eq!(received, order);
        rustix::io::write(&descriptors[0], b"x").unwrap();
        let mut byte = [0];
        rustix::io::read(&reader, &mut byte).unwrap();
        assert_eq!(&byte, b"x");
    }

    #[test]
    fn a_closed_socket_is_the_end() {
        let (control, init) = pair();
        drop(control);
        assert_eq!(init.next_order().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_no_init_sends_is_refused() {
        for bytes in [&b"\x02\0\0\0{}"[..], b"\xff\xff\xff\xff", b"\x05\0\0\0null "] {
            let (control, init) = pair();
            rustix::io::write(&init.0, bytes).unwrap();
            assert_eq!(control.next_report().unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        let (control, init) = pair();
        rustix::io::write(&init.0, b"\x09\0\0\0{").unwrap();
        drop(init);
        assert_eq!(control.next_report().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
