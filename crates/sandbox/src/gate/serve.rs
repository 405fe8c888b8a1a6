//! Accepts calls, asks, lets them go on, answers.
//!
//! A few threads wait for calls; whoever got one takes its time, and if nobody else waits then,
//! another thread does. So a question that a person thinks about holds up nobody but its caller.
//! The threads end with the last process of the sandbox; before Linux 6.11, which does not tell them,
//! with this process.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use broker::{Act, Broker, Context, Permit};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::Shutdown;
use rustix::process::Pid;
use sys::notify::{Listener, Notification};

use super::answer::Denied;
use super::exec::{self, Orders};
use super::files::{self, Trees};
use super::refused::Lately;
use super::tell::tell;
use super::view::View;

/// Threads that are kept although there is nothing to do.
const SPARE: usize = 3;
/// The most threads. More calls than these wait in the kernel until one is answered; asks are
/// capped far below it.
const MOST: usize = 256;

/// What the threads of the gate share.
pub(in crate::gate) struct Gate {
    pub(in crate::gate) listener: Listener,
    pub(in crate::gate) broker: Broker,
    pub(in crate::gate) orders: Orders,
    pub(in crate::gate) trees: Trees,
    /// The socket to init: hanging up ends the sandbox.
    init: OwnedFd,
    view: OnceLock<View>,
    told: Lately,
    idle: AtomicUsize,
    threads: AtomicUsize,
}

impl Gate {
    pub(in crate::gate) fn new(
        listener: Listener,
        broker: Broker,
        trees: Trees,
        init: OwnedFd,
    ) -> Self {
        listener.wake_close_by();
        Self {
            listener,
            broker,
            orders: Orders::default(),
            trees,
            init,
            view: OnceLock::new(),
            told: Lately::default(),
            idle: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
        }
    }

    /// Starts one more thread.
    ///
    /// # Errors
    /// `EAGAIN` when there are too many.
    pub(in crate::gate) fn staff(self: &Arc<Self>) -> std::io::Result<()> {
        let gate = Arc::clone(self);
        self.idle.fetch_add(1, Ordering::SeqCst);
        self.threads.fetch_add(1, Ordering::SeqCst);
        let name = "syscall gate".to_owned();
        let started = std::thread::Builder::new().name(name).spawn(move || {
            let _end = EndOfThread(&gate);
            if files::stand_alone().is_ok() {
                gate.work();
            } else {
                gate.end_sandbox();
            }
        });
        if started.is_err() {
            self.idle.fetch_sub(1, Ordering::SeqCst);
            self.threads.fetch_sub(1, Ordering::SeqCst);
        }
        started.map(drop)
    }

    fn work(self: &Arc<Self>) {
        loop {
            let next = self.next();
            if self.idle.fetch_sub(1, Ordering::SeqCst) == 1
                && self.threads.load(Ordering::SeqCst) < MOST
            {
                // Without another thread this one comes back later, which is slow and not wrong.
                let _ = self.staff();
            }
            match next {
                Next::Call(call) => self.answer(&call),
                Next::Nothing => {}
                Next::End => return,
                Next::Broken => return self.end_sandbox(),
            }
            if self.idle.fetch_add(1, Ordering::SeqCst) >= SPARE {
                self.idle.fetch_sub(1, Ordering::SeqCst);
                return;
            }
        }
    }

    /// Blocks until the kernel has a call for this thread. It wakes one thread for each.
    fn next(&self) -> Next {
        match self.listener.receive() {
            Ok(Some(call)) => Next::Call(call),
            Ok(None) if self.has_ended() => Next::End,
            Ok(None) => Next::Nothing,
            Err(_) => Next::Broken,
        }
    }

    /// Whether nobody is left who could call.
    fn has_ended(&self) -> bool {
        let mut listener = [PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let looked = rustix::event::poll(&mut listener, Some(&now));
        looked.is_ok() && listener.iter().any(|it| it.revents().contains(PollFlags::HUP))
    }

    /// What can't be mediated any more must not go on.
    fn end_sandbox(&self) {
        // Fails only when it has ended already.
        let _ = rustix::net::shutdown(&self.init, Shutdown::Both);
    }

    fn answer(&self, call: &Notification) {
        let outcome = match call.call {
            libc::SYS_execve | libc::SYS_execveat => exec::serve(self, call),
            _ => files::serve(self, call),
        };
        if let Err(denied) = outcome {
            self.deny(call, &denied);
        }
    }

    fn deny(&self, call: &Notification, denied: &Denied) {
        if let Denied::Outright(action, why) = denied {
            // Refused it is, recorded or not.
            let _ = self.broker.record_denial(action, why);
        }
        if let Some(text) = denied.text().filter(|text| self.told.is_new(call.thread, text)) {
            tell(call.thread, &text);
        }
        // A caller that is gone needs no answer.
        let _ = self.listener.fail(call.id, denied.errno().raw_os_error());
    }

    pub(in crate::gate) fn view(&self, thread: Pid) -> Result<&View, Errno> {
        match self.view.get() {
            Some(view) => Ok(view),
            None => {
                let view = View::of(thread)?;
                Ok(self.view.get_or_init(|| view))
            }
        }
    }

    /// What was read of a caller that is gone may have been another's.
    pub(in crate::gate) fn still_waiting(&self, call: &Notification) -> Result<(), Errno> {
        if self.listener.is_waiting(call.id) { Ok(()) } else { Err(Errno::SRCH) }
    }

    /// Asks the broker. What was refused to a thread a moment ago is refused again: a shell tries
    /// the same program in every directory of its search path.
    pub(in crate::gate) fn request<A: Act>(
        &self,
        call: &Notification,
        act: A,
        context: Context,
    ) -> Result<Permit<A>, Denied> {
        let action = act.action();
        if self.told.refused(call.thread, &action) {
            return Err(Errno::PERM.into());
        }
        // Nobody is asked on behalf of a caller that is gone.
        let wanted = || self.still_waiting(call).is_ok();
        self.broker.request_while(act, context, &wanted).map_err(|refusal| {
            self.told.remember(call.thread, &action);
            Denied::Refused(Box::new(action), Box::new(refusal))
        })
    }
}

enum Next {
    Call(Notification),
    Nothing,
    End,
    Broken,
}

/// Counts a thread out, and ends the sandbox if it ended by a fault.
struct EndOfThread<'a>(&'a Gate);

impl Drop for EndOfThread<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end_sandbox();
        }
        self.0.threads.fetch_sub(1, Ordering::SeqCst);
    }
}
