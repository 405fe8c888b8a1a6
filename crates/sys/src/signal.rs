//! Signals as descriptors, and a clean slate for children.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::Signal;

use crate::check;

/// A descriptor from which blocked signals are read: signalfd(2).
#[derive(Debug)]
pub struct SignalFd(OwnedFd);

impl SignalFd {
    /// Blocks `signals` for this thread (and threads it starts later) and opens a descriptor that
    /// reports them.
    ///
    /// # Errors
    /// `EMFILE`, `ENOMEM`.
    pub fn block(signals: &[Signal]) -> io::Result<Self> {
        let set = set_of(signals)?;
        // SAFETY: `set` was initialised by `set_of`; the old mask is not asked for.
        check_errno(unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut())
        })?;
        // SAFETY: as above; −1 asks for a new descriptor.
        let fd = check(unsafe {
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        })?;
        // SAFETY: the kernel has just given this descriptor to us alone.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next pending signal, if there is one.
    ///
    /// # Errors
    /// Whatever the kernel answered, other than that there is none.
    pub fn next(&self) -> io::Result<Option<Signal>> {
        let mut buffer = [0_u8; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.0, &mut buffer) {
            Ok(count) if count == buffer.len() => Ok(number_of(&buffer)),
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The signal number is the first field, a 32-bit integer.
fn number_of(info: &[u8]) -> Option<Signal> {
    let number = info.first_chunk::<4>().map(|bytes| u32::from_ne_bytes(*bytes))?;
    Signal::from_named_raw(i32::try_from(number).ok()?)
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for SignalFd {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Whether whoever started this process wanted the signal to be ignored, as nohup(1) does, or a
/// shell without job control for what it starts in the background: signal(7).
///
/// # Errors
/// `EINVAL` for a number that is no signal.
pub fn is_ignored(signal: Signal) -> io::Result<bool> {
    // SAFETY: `sigaction` is plain data, for which zeros are a value.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: `now` is a valid place for the call to write; nothing is installed.
    check(unsafe { libc::sigaction(signal.as_raw(), std::ptr::null(), &raw mut now) })?;
    Ok(now.sa_sigaction == libc::SIG_IGN)
}

/// Whether any of these blocked signals has come for this process and waits: sigpending(2). It
/// goes on waiting.
///
/// # Errors
/// `EINVAL` for a number that is no signal.
pub fn is_pending(signals: &[Signal]) -> io::Result<bool> {
    // SAFETY: `sigset_t` is plain data, for which zeros are a value.
    let mut waiting: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `waiting` is a valid place for the call to write.
    check(unsafe { libc::sigpending(&raw mut waiting) })?;
    // SAFETY: the call above has filled `waiting`.
    let waits = |signal: &Signal| unsafe { libc::sigismember(&raw const waiting, signal.as_raw()) };
    Ok(signals.iter().any(|signal| waits(signal) == 1))
}

/// Gives the signal its default action again.
pub fn heed(signal: Signal) {
    default_action(signal.as_raw());
}

/// The system call itself, because the C library keeps two signals for its own use and would leave
/// them as they are.
fn default_action(number: i32) {
    // The kernel's own `struct sigaction`: handler, flags, restorer, mask; zeros mean `SIG_DFL`.
    let action = [0_u64; 4];
    // SAFETY: the default action installs no code of ours. The kernel reads four words and
    // refuses the numbers whose action can't be set.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigaction,
            number,
            action.as_ptr(),
            std::ptr::null_mut::<u64>(),
            size_of::<u64>(),
        )
    };
}

/// From now on these signals are for the programs that this process starts: itself it does nothing
/// on them, and a program has their default action, because handlers end with exec: execve(2). What
/// whoever started this process wanted ignored stays ignored.
///
/// # Errors
/// `EINVAL` for a signal whose action can't be set.
pub fn leave_to_children(signals: &[Signal]) -> io::Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    for signal in signals {
        if is_ignored(*signal)? {
            continue;
        }
        // SAFETY: `sigaction` is plain data, for which zeros are a value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler does nothing, which is safe in any thread at any time.
        check(unsafe {
            libc::sigaction(signal.as_raw(), &raw const action, std::ptr::null_mut())
        })?;
    }
    Ok(())
}

/// Blocks no signal and ignores none, not even SIGPIPE, which Rust's runtime ignores: what a new
/// program expects. Handlers end with exec by themselves, but what is ignored stays ignored:
/// execve(2).
///
/// # Errors
/// Never in practice; the mask call can only fail for a wrong first argument.
pub fn reset() -> io::Result<()> {
    (1..=libc::SIGRTMAX()).for_each(default_action);
    let none = set_of(&[])?;
    // SAFETY: `none` was initialised by `set_of`; the old mask is not asked for.
    check_errno(unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut())
    })
}

fn set_of(signals: &[Signal]) -> io::Result<libc::sigset_t> {
    // SAFETY: `sigset_t` is plain data, and `sigemptyset` gives it its empty value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a valid place for the call to write.
    check(unsafe { libc::sigemptyset(&raw mut set) })?;
    for signal in signals {
        // SAFETY: `set` is initialised, and the number comes from a named signal.
        check(unsafe { libc::sigaddset(&raw mut set, signal.as_raw()) })?;
    }
    Ok(set)
}

/// The pthread calls return the error number instead of setting `errno`.
fn check_errno(number: libc::c_int) -> io::Result<()> {
    if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(number)) }
}
