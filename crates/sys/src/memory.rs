//! The memory of another process.

use std::io;

use rustix::process::Pid;

/// Copies bytes at `address` of the process of `thread` into `buffer`; returns how many there were
/// before the first that can't be read: process_vm_readv(2).
///
/// # Errors
/// `EFAULT` when not even the first byte can be read, `EPERM`, `ESRCH`.
pub fn read(thread: Pid, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let base = usize::try_from(address).map_err(io::Error::other)?;
    let remote = libc::iovec { iov_base: base as *mut libc::c_void, iov_len: buffer.len() };
    // SAFETY: `local` describes `buffer`, which is ours to write; `remote` is an address of another
    // process, which the kernel checks there.
    let count = unsafe {
        libc::process_vm_readv(thread.as_raw_pid(), &raw const local, 1, &raw const remote, 1, 0)
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_read_and_none_is_an_error() {
        let secret = *b"in plain sight";
        let mut buffer = [0_u8; 14];
        let me = rustix::process::getpid();
        assert_eq!(read(me, secret.as_ptr() as u64, &mut buffer).unwrap(), 14);
        assert_eq!(buffer, secret);
        assert_eq!(read(me, 0, &mut buffer).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        assert!(read(me, u64::MAX - 4, &mut buffer).is_err());
    }
}
