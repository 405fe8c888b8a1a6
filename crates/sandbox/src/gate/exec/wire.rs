//! A call to run a program, read from the caller's registers and memory.

use rustix::io::Errno;
use sys::notify::Notification;

use crate::gate::memory::{CallPath, Start, low_half, strings};

/// A call to run a program: execve(2), execveat(2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::gate) struct ExecCall {
    pub(in crate::gate) path: CallPath,
    /// Whether a link as the last name is an error.
    pub(in crate::gate) no_follow: bool,
    /// Whether an empty path means the descriptor itself.
    pub(in crate::gate) empty_path: bool,
    /// All arguments, the program's own name among them.
    pub(in crate::gate) args: Vec<Vec<u8>>,
}

impl ExecCall {
    /// Reads the call.
    ///
    /// # Errors
    /// What the kernel would answer, or `ENOSYS` for a call that is none of these.
    pub(in crate::gate) fn read(call: &Notification) -> Result<Self, Errno> {
        let [first, second, third, _, fifth, _] = call.args;
        match call.call {
            libc::SYS_execve => Ok(Self {
                path: CallPath::read(call.thread, Start::WorkingDirectory, first)?,
                no_follow: false,
                empty_path: false,
                args: strings(call.thread, second)?,
            }),
            libc::SYS_execveat => {
                let flags = low_half(fifth);
                Ok(Self {
                    path: CallPath::read(call.thread, Start::of(first), second)?,
                    no_follow: flags & libc::AT_SYMLINK_NOFOLLOW != 0,
                    empty_path: flags & libc::AT_EMPTY_PATH != 0,
                    args: strings(call.thread, third)?,
                })
            }
            _ => Err(Errno::NOSYS),
        }
    }

    /// The name that the kernel gives the file towards an interpreter: execveat(2).
    pub(in crate::gate) fn name_for_interpreter(&self) -> Vec<u8> {
        let path = self.path.bytes.as_slice();
        match self.path.start {
            Start::Descriptor(number) if !path.starts_with(b"/") => {
                let directory = format!("/dev/fd/{number}").into_bytes();
                if path.is_empty() {
                    directory
                } else {
                    [&directory, b"/".as_slice(), path].concat()
                }
            }
            _ => path.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(call: i64, args: [u64; 6]) -> Notification {
        Notification { id: 0, thread: rustix::process::getpid(), call, args }
    }

    fn address<T: ?Sized>(of: &T) -> u64 {
        std::ptr::from_ref(of).cast::<()>() as u64
    }

    #[test]
    fn a_call_is_read_as_it_stands() {
        let (path, one, two) = (c"/bin/echo", c"echo", c"caf\xe9\n");
        let vector = [address(one.to_bytes_with_nul()), address(two.to_bytes_with_nul()), 0];
        let args = [address(path.to_bytes_with_nul()), address(&vector), 0, 0, 0, 0];
        let call = ExecCall::read(&own(libc::SYS_execve, args)).unwrap();
        assert_eq!(call.path.bytes, b"/bin/echo");
        assert_eq!(call.path.start, Start::WorkingDirectory);
        assert_eq!(call.args, [b"echo".to_vec(), b"caf\xe9\n".to_vec()]);

        let flags = (libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW) as u64 | 1 << 40;
        let at = [7, address(c"".to_bytes_with_nul()), 0, 0, flags, 0];
        let call = ExecCall::read(&own(libc::SYS_execveat, at)).unwrap();
        assert_eq!(call.path.start, Start::Descriptor(7));
        assert!(call.empty_path && call.no_follow && call.args.is_empty());
        assert_eq!(call.name_for_interpreter(), b"/dev/fd/7");
    }

    #[test]
    fn what_the_kernel_would_refuse_is_refused() {
        let read = |args| ExecCall::read(&own(libc::SYS_execve, args)).unwrap_err();
        assert_eq!(read([0; 6]), Errno::FAULT);
        let long = vec![b'x'; 5000];
        assert_eq!(read([address(long.as_slice()), 0, 0, 0, 0, 0]), Errno::NAMETOOLONG);
        let path = c"/bin/true".to_bytes_with_nul();
        assert_eq!(read([address(path), 1 << 60, 0, 0, 0, 0]), Errno::FAULT);
        let huge = vec![address(path); 1 << 20];
        assert_eq!(read([address(path), address(huge.as_slice()), 0, 0, 0, 0]), Errno::TOOBIG);
        assert_eq!(ExecCall::read(&own(libc::SYS_read, [0; 6])), Err(Errno::NOSYS));
    }
}
