//! Accepts calls, asks, lets them go on, answers.
//!
//! One thread at a time waits for the next call; whoever got one hands the wait on and takes its
//! time. So a question that a person thinks about holds up nobody but its caller.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use broker::Broker;
use policy::Exec;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::Shutdown;
use rustix::process::Pid;
use serde::Serialize;
use sys::notify::{Listener, Notification};

use super::action::{Grant, Ordered, refusal_text, to_decide};
use super::effect::{self, Ran};
use super::program::{Program, Unfit};
use super::view::View;
use super::wire::ExecCall;

/// Threads that are kept although there is nothing to do.
const SPARE: usize = 3;
/// The most threads. More calls than these wait in the kernel until one is answered; asks are
/// capped far below it.
const MOST: usize = 256;

/// What the threads of a gate share.
pub(super) struct Shared {
    listener: Listener,
    broker: Broker,
    /// The socket to init: hanging up ends the sandbox.
    init: OwnedFd,
    /// Readable once the gate is to end.
    stop: OwnedFd,
    view: OnceLock<View>,
    ordered: Mutex<Option<Ordered>>,
    turn: Mutex<()>,
    idle: AtomicUsize,
    threads: AtomicUsize,
}

/// What the ledger says of a program that was let run.
#[derive(Serialize)]
struct ExecStarted {
    started: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'static str>,
}

impl Shared {
    pub(super) fn new(listener: Listener, broker: Broker, init: OwnedFd, stop: OwnedFd) -> Self {
        listener.wake_close_by();
        Self {
            listener,
            broker,
            init,
            stop,
            view: OnceLock::new(),
            ordered: Mutex::new(None),
            turn: Mutex::new(()),
            idle: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
        }
    }

    /// The command that init starts next.
    pub(super) fn expect(&self, ordered: Option<Ordered>) {
        *self.ordered.lock().unwrap_or_else(PoisonError::into_inner) = ordered;
    }

    /// Starts one more thread.
    ///
    /// # Errors
    /// `EAGAIN` when there are too many.
    pub(super) fn staff(self: &Arc<Self>) -> std::io::Result<()> {
        let shared = Arc::clone(self);
        self.idle.fetch_add(1, Ordering::SeqCst);
        self.threads.fetch_add(1, Ordering::SeqCst);
        let name = "syscall gate".to_owned();
        let started = std::thread::Builder::new().name(name).spawn(move || {
            let _end = EndOfThread(&shared);
            shared.work();
        });
        if started.is_err() {
            self.idle.fetch_sub(1, Ordering::SeqCst);
            self.threads.fetch_sub(1, Ordering::SeqCst);
        }
        started.map(drop)
    }

    fn work(self: &Arc<Self>) {
        loop {
            let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let next = self.next();
            if self.idle.fetch_sub(1, Ordering::SeqCst) == 1
                && self.threads.load(Ordering::SeqCst) < MOST
            {
                // Without another thread this one comes back later, which is slow and not wrong.
                let _ = self.staff();
            }
            drop(turn);
            match next {
                Next::Call(call) => self.answer(&call),
                Next::Nothing => {}
                Next::End => return,
                Next::Broken => return self.end_sandbox(),
            }
            if self.idle.load(Ordering::SeqCst) > SPARE {
                return;
            }
            self.idle.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn next(&self) -> Next {
        let mut sources = [
            PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN),
        ];
        match rustix::event::poll(&mut sources, None) {
            Ok(_) => {}
            Err(Errno::INTR) => return Next::Nothing,
            Err(_) => return Next::Broken,
        }
        let [stop, listener] = sources.map(|source| source.revents());
        if !stop.is_empty()
            || (listener.contains(PollFlags::HUP) && !listener.contains(PollFlags::IN))
        {
            return Next::End;
        }
        match self.listener.receive() {
            Ok(Some(call)) => Next::Call(call),
            Ok(None) => Next::Nothing,
            Err(_) => Next::Broken,
        }
    }

    /// What can't be mediated any more must not go on.
    fn end_sandbox(&self) {
        // Fails only when it has ended already.
        let _ = rustix::net::shutdown(&self.init, Shutdown::Both);
    }

    fn answer(&self, call: &Notification) {
        let errno = match self.exec(call) {
            Ok(()) => return,
            Err(errno) => errno,
        };
        // A caller that is gone needs no answer.
        let _ = self.listener.fail(call.id, errno.raw_os_error());
    }

    /// Carries a call to run a program out, or says with which error it fails.
    fn exec(&self, call: &Notification) -> Result<(), Errno> {
        let asked = ExecCall::read(call)?;
        let found = Program::of(self.view(call.thread)?, call.thread, &asked);
        self.still_waiting(call)?;
        let program = found.map_err(|unfit| self.unfit(call, &unfit))?;
        let grant = self.decide(call, &program)?;
        self.still_waiting(call)?;
        match effect::run(&self.listener, call, &grant, &program) {
            Ok(ran) => {
                self.record(grant, ran);
                Ok(())
            }
            Err(error) => {
                effect::tell(
                    call.thread,
                    "loop: denied: a program that is traced can't run others while programs have rules",
                );
                self.record(grant, Ran::Not);
                Err(error)
            }
        }
    }

    fn view(&self, thread: Pid) -> Result<&View, Errno> {
        match self.view.get() {
            Some(view) => Ok(view),
            None => {
                let view = View::of(thread)?;
                Ok(self.view.get_or_init(|| view))
            }
        }
    }

    /// What was read of a caller that is gone may have been another's.
    fn still_waiting(&self, call: &Notification) -> Result<(), Errno> {
        if self.listener.is_waiting(call.id) { Ok(()) } else { Err(Errno::SRCH) }
    }

    fn unfit(&self, call: &Notification, unfit: &Unfit) -> Errno {
        if unfit.is_ours() {
            effect::tell(call.thread, &format!("loop: denied: {unfit}"));
        }
        unfit.errno()
    }

    fn decide(&self, call: &Notification, program: &Program) -> Result<Grant, Errno> {
        let mut slot = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        let step = to_decide(&self.broker, program, slot.as_ref()).cloned();
        let Some(step) = step else {
            return slot.take().map(Grant::by_order).ok_or(Errno::PERM);
        };
        drop(slot);
        self.request(call, step)
    }

    fn request(&self, call: &Notification, step: Exec) -> Result<Grant, Errno> {
        self.broker.request(step.clone()).map(Grant::Permit).map_err(|refusal| {
            effect::tell(call.thread, &refusal_text(&step, &refusal));
            Errno::ACCESS
        })
    }

    fn record(&self, grant: Grant, ran: Ran) {
        let Grant::Permit(permit) = grant else { return };
        let because = match ran {
            Ran::AsPermitted => None,
            Ran::Not => Some("the kernel did not run it"),
            Ran::Otherwise => Some("what was about to run was not what was permitted: killed"),
        };
        let result = ExecStarted { started: ran == Ran::AsPermitted, because };
        // A ledger that takes no more refuses the next request.
        let _ = self.broker.complete(permit, &result);
    }
}

enum Next {
    Call(Notification),
    Nothing,
    End,
    Broken,
}

/// Counts a thread out, and ends the sandbox if it ended by a fault.
struct EndOfThread<'a>(&'a Shared);

impl Drop for EndOfThread<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end_sandbox();
        }
        self.0.threads.fetch_sub(1, Ordering::SeqCst);
    }
}
