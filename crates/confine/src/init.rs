//! Process 1 of a sandbox: starts commands, reaps, forwards signals, watches limits.
//!
//! One thread, one loop. It is confined exactly as the commands are, so whatever it starts is too.
//! When the control plane's socket closes, it ends, and the kernel ends everything else.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitOptions};
use sys::signal::SignalFd;

use crate::command::{self, NotStarted, Running};
use crate::door::Door;
use crate::plan::Watch;
use crate::protocol::{Channel, Command, Ending, Order, Report};
use crate::watch::Watcher;

/// How often limits are looked at while commands run.
const WATCH_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Serves orders until the control plane is gone or a watched limit is reached.
///
/// # Errors
/// When the socket or the signal descriptor fails, after which the sandbox can't go on.
pub(crate) fn serve(
    channel: &Channel,
    children: &SignalFd,
    watch: Watch,
    door: Option<Door>,
) -> io::Result<()> {
    let mut init = Init { channel, running: HashMap::new(), watcher: Watcher::new(watch), door };
    loop {
        let wake = init.wait(children)?;
        // First: a command that gives up at its limit is quicker than the next look.
        if let Some(limit) = init.watcher.reached() {
            return channel.report(&Report::LimitReached(limit), &[]);
        }
        match wake {
            Wake::Order => match channel.next_order() {
                Ok((order, descriptors)) => init.obey(order, descriptors)?,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            },
            Wake::Child => init.reap(children)?,
            Wake::Knock => init.answer_door(),
            Wake::Look => {}
        }
    }
}

enum Wake {
    Order,
    Child,
    Knock,
    Look,
}

struct Init<'a> {
    channel: &'a Channel,
    running: HashMap<Pid, Running>,
    watcher: Watcher,
    door: Option<Door>,
}

impl Init<'_> {
    fn wait(&self, children: &SignalFd) -> io::Result<Wake> {
        let timeout =
            (self.watcher.is_needed() && !self.running.is_empty()).then_some(WATCH_INTERVAL);
        loop {
            // Without a door its place is taken by a second look at the children.
            let door = self.door.as_ref().map_or(children.as_fd(), AsFd::as_fd);
            let mut sources = [children.as_fd(), self.channel.as_fd(), door]
                .map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
            let ready = rustix::event::poll(&mut sources, timeout.as_ref());
            let [children, order, _] = sources.each_ref().map(|it| !it.revents().is_empty());
            match ready {
                Ok(0) => return Ok(Wake::Look),
                Ok(_) if children => return Ok(Wake::Child),
                Ok(_) if order => return Ok(Wake::Order),
                Ok(_) => return Ok(Wake::Knock),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn obey(&mut self, order: Order, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        match order {
            Order::Start(command) => self.start(&command, descriptors),
            Order::Signal { command, signal } => {
                self.signal(command, signal);
                Ok(())
            }
            Order::Confine(_) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "already confined"))
            }
        }
    }

    fn start(&mut self, command: &Command, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        match command::start(command, descriptors) {
            Ok((running, terminal)) => {
                self.running.insert(running.pid, running);
                let terminal = terminal.as_ref().map(AsFd::as_fd);
                self.channel.report(&Report::Started { command: command.id }, terminal.as_slice())
            }
            Err(NotStarted { during, errno }) => {
                self.channel.report(&Report::NotStarted { command: command.id, during, errno }, &[])
            }
        }
    }

    /// A door that nobody knocks at any more is shut; the commands go on.
    fn answer_door(&mut self) {
        if self.door.as_ref().is_some_and(|door| door.answer().is_err()) {
            self.door = None;
        }
    }

    fn signal(&self, command: u32, signal: i32) {
        let group = self.running.values().find(|running| running.command == command);
        if let (Some(running), Some(signal)) = (group, Signal::from_named_raw(signal)) {
            // A command that has just ended can't be signalled, and need not be.
            let _ = rustix::process::kill_process_group(running.pid, signal);
        }
    }

    fn reap(&mut self, children: &SignalFd) -> io::Result<()> {
        while children.next()?.is_some() {}
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.ended(pid, status)?,
                Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn ended(&mut self, pid: Pid, status: rustix::process::WaitStatus) -> io::Result<()> {
        let ending = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, Some(signal)) => Ending::Killed(signal),
            (None, None) => return Ok(()), // stopped or continued: still there
        };
        match self.running.remove(&pid) {
            Some(running) => {
                self.channel.report(&Report::Ended { command: running.command, ending }, &[])
            }
            None => Ok(()), // an orphan that came to us
        }
    }
}
