//! The process that carries out one proposal.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, WaitOptions};
use sys::process::Fork;

use super::link::{Link, Said, Told, hear, write_all};
use crate::proposal::Proposal;
use crate::tools;
use crate::tools::command::{self, Wanted};
use crate::tools::place::Project;
use crate::wire::{Decoder, LARGEST_REPORT, frame};

/// A worker, as the program sees it.
pub(super) struct Worker {
    pub(super) process: Pid,
    socket: OwnedFd,
    said: Decoder,
    /// The proposal that it has to answer.
    pub(super) open: Option<u64>,
    /// The job that it is.
    pub(super) job: Option<String>,
    /// It can be told something; others are killed.
    pub(super) listens: bool,
}

impl Worker {
    /// Starts a process for the proposal.
    ///
    /// # Errors
    /// `EAGAIN` at the limit of processes, `EMFILE`.
    pub(super) fn start(
        project: &Project,
        proposal: Proposal,
        id: u64,
        job: Option<String>,
    ) -> io::Result<Self> {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let listens = matches!(proposal, Proposal::Bash { .. });
        match sys::process::fork()? {
            Fork::Child => {
                let done = work(project, proposal, job, theirs);
                sys::process::exit_now(i32::from(done.is_err()))
            }
            Fork::Parent(process) => {
                let said = Decoder::new(LARGEST_REPORT);
                Ok(Self { process, socket: ours, said, open: Some(id), job, listens })
            }
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// What it has said since.
    ///
    /// # Errors
    /// When it is gone.
    pub(super) fn hear(&mut self) -> io::Result<Vec<Said>> {
        hear(&self.socket, &mut self.said)
    }

    /// Tells it something.
    ///
    /// # Errors
    /// When it is gone.
    pub(super) fn tell(&self, told: &Told) -> io::Result<()> {
        let bytes = frame(told, LARGEST_REPORT).map_err(io::Error::other)?;
        write_all(&self.socket, &bytes)
    }

    /// Ends it, if it has not ended, and waits for that.
    pub(super) fn kill(self) {
        let _ = rustix::process::kill_process(self.process, Signal::KILL);
        let _ = rustix::io::retry_on_intr(|| {
            rustix::process::waitpid(Some(self.process), WaitOptions::empty())
        });
    }
}

/// In the new process: does its work, with nothing of the program's but the socket.
fn work(
    project: &Project,
    proposal: Proposal,
    job: Option<String>,
    socket: OwnedFd,
) -> io::Result<()> {
    sys::descriptor::close_from_but(3, socket.as_fd())?;
    // Not inherited by a fork: prctl(2).
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // Whoever ends the program ends it alone: a line of shell is ended by its worker, which sees
    // the link close. Nothing else outlives the program.
    rustix::process::setpgid(None, None)?;
    if !matches!(proposal, Proposal::Bash { .. }) {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    let mut link = Link::over(socket);
    match proposal {
        Proposal::Bash { command: line, timeout, terminal, .. } => {
            let wanted = Wanted { line, timeout, terminal, job };
            command::run(project, &wanted, &mut link);
        }
        proposal => link.say(Said::Done(tools::carry_out(project, &proposal))),
    }
    Ok(())
}
