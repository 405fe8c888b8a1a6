//! One safe function for each system call that no library wraps.
//!
//! This is the only crate of the workspace with `unsafe`. It knows no policy: it does what it is
//! told and reports what the kernel answered. Each block says why it is needed and why it is sound.
#![allow(unsafe_code, reason = "the one crate where system calls are made by hand")]

pub mod descriptor;
pub mod memory;
pub mod mount;
pub mod network;
pub mod notify;
pub mod process;
pub mod signal;
pub mod trace;

use std::io;

/// Turns the return value of a C call into a result: −1 means `errno`.
fn check(value: libc::c_int) -> io::Result<libc::c_int> {
    if value == -1 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// The same for calls made through `syscall(2)`.
fn check_long(value: libc::c_long) -> io::Result<libc::c_long> {
    if value == -1 { Err(io::Error::last_os_error()) } else { Ok(value) }
}
