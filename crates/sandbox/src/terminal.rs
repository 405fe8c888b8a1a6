//! The person's terminal, while a command of the sandbox has one of its own.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::termios::{OptionalActions, Termios, Winsize};

/// The size of a terminal; a usual one where it does not say.
pub(crate) fn size(terminal: BorrowedFd<'_>) -> Winsize {
    let usual = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    match rustix::termios::tcgetwinsize(terminal) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => size,
        _ => usual,
    }
}

/// A terminal that passes every key on instead of acting on it, until this is dropped.
pub(crate) struct RawTerminal<T: AsFd> {
    terminal: T,
    before: Termios,
}

impl<T: AsFd> RawTerminal<T> {
    /// Makes `terminal` raw.
    pub(crate) fn enter(terminal: T) -> io::Result<Self> {
        let before = rustix::termios::tcgetattr(&terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        rustix::termios::tcsetattr(&terminal, OptionalActions::Now, &raw)?;
        Ok(Self { terminal, before })
    }
}

impl<T: AsFd> Drop for RawTerminal<T> {
    fn drop(&mut self) {
        // The terminal may be gone; then there is nothing to give back.
        let _ = rustix::termios::tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}
