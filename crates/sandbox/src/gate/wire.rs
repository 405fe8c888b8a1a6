//! What a stopped thread asked the kernel for: hostile registers and memory in, a typed call out.
//!
//! Everything is capped, and nothing is believed: the memory can change while it is read, so what
//! comes out of here counts only once the notification was found still valid, and what the kernel
//! then does is compared with it or never left to the kernel.

use rustix::io::Errno;
use rustix::process::Pid;
use sys::notify::Notification;

/// The longest path that the kernel takes, with its end: `PATH_MAX`.
const LONGEST_PATH: usize = 4096;
/// The most bytes of arguments that are read. The kernel takes less: execve(2).
const LONGEST_ARGUMENTS: usize = 8 << 20;
/// Memory is read in blocks of this size and alignment, so that a read never crosses into a page
/// that is not there.
const PAGE: u64 = 4096;

/// Where a relative path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The caller's working directory.
    WorkingDirectory,
    /// A descriptor of the caller's.
    Descriptor(i32),
}

impl Start {
    /// From an argument that may be `AT_FDCWD`; the kernel looks at its lower half.
    fn of(argument: u64) -> Self {
        match low_half(argument) {
            libc::AT_FDCWD => Self::WorkingDirectory,
            descriptor => Self::Descriptor(descriptor),
        }
    }
}

/// A path as the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallPath {
    pub(super) start: Start,
    pub(super) bytes: Vec<u8>,
}

/// A call to run a program: execve(2), execveat(2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExecCall {
    pub(super) path: CallPath,
    /// Whether a link as the last name is an error.
    pub(super) no_follow: bool,
    /// Whether an empty path means the descriptor itself.
    pub(super) empty_path: bool,
    /// All arguments, the program's own name among them.
    pub(super) args: Vec<Vec<u8>>,
}

impl ExecCall {
    /// Reads the call.
    ///
    /// # Errors
    /// What the kernel would answer, or `ENOSYS` for a call that is none of these.
    pub(super) fn read(call: &Notification) -> Result<Self, Errno> {
        let mut memory = Memory::of(call.thread);
        let [first, second, third, _, fifth, _] = call.args;
        match call.call {
            libc::SYS_execve => Ok(Self {
                path: CallPath {
                    start: Start::WorkingDirectory,
                    bytes: memory.string(first, LONGEST_PATH, Errno::NAMETOOLONG)?,
                },
                no_follow: false,
                empty_path: false,
                args: strings(call.thread, second)?,
            }),
            libc::SYS_execveat => {
                let flags = low_half(fifth);
                Ok(Self {
                    path: CallPath {
                        start: Start::of(first),
                        bytes: memory.string(second, LONGEST_PATH, Errno::NAMETOOLONG)?,
                    },
                    no_follow: flags & libc::AT_SYMLINK_NOFOLLOW != 0,
                    empty_path: flags & libc::AT_EMPTY_PATH != 0,
                    args: strings(call.thread, third)?,
                })
            }
            _ => Err(Errno::NOSYS),
        }
    }

    /// The name that the kernel gives the file towards an interpreter: execveat(2).
    pub(super) fn name_for_interpreter(&self) -> Vec<u8> {
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

/// The kernel takes many arguments as `int`, whatever the upper half of the register holds.
#[expect(clippy::cast_possible_truncation, reason = "this is what the kernel does")]
fn low_half(argument: u64) -> i32 {
    (argument as u32).cast_signed()
}

/// The strings that a vector of pointers names, up to the null pointer.
fn strings(thread: Pid, vector: u64) -> Result<Vec<Vec<u8>>, Errno> {
    if vector == 0 {
        return Ok(Vec::new());
    }
    let (mut pointers, mut bytes) = (Memory::of(thread), Memory::of(thread));
    let (mut all, mut left, mut at) = (Vec::new(), LONGEST_ARGUMENTS, vector);
    loop {
        let mut pointer = [0_u8; 8];
        pointers.fill(at, &mut pointer)?;
        let pointer = u64::from_ne_bytes(pointer);
        if pointer == 0 {
            return Ok(all);
        }
        let string = bytes.string(pointer, left, Errno::TOOBIG)?;
        // A pointer and an end count too, so that a million empty strings come to an end.
        left = left.checked_sub(string.len() + 9).ok_or(Errno::TOOBIG)?;
        all.push(string);
        at = at.checked_add(8).ok_or(Errno::FAULT)?;
    }
}

/// The memory of a thread, one block at a time.
struct Memory {
    thread: Pid,
    start: u64,
    block: Vec<u8>,
}

impl Memory {
    fn of(thread: Pid) -> Self {
        Self { thread, start: 0, block: Vec::new() }
    }

    /// What is at `address`, to the end of its block: at least one byte.
    fn at(&mut self, address: u64) -> Result<&[u8], Errno> {
        let start = address - address % PAGE;
        if self.block.is_empty() || self.start != start {
            let mut block = vec![0_u8; 4096];
            let count =
                sys::memory::read(self.thread, start, &mut block).map_err(|error| errno(&error))?;
            block.truncate(count);
            (self.start, self.block) = (start, block);
        }
        let offset = usize::try_from(address - start).map_err(|_| Errno::FAULT)?;
        self.block.get(offset..).filter(|rest| !rest.is_empty()).ok_or(Errno::FAULT)
    }

    fn fill(&mut self, mut address: u64, mut buffer: &mut [u8]) -> Result<(), Errno> {
        while !buffer.is_empty() {
            let bytes = self.at(address)?;
            let count = bytes.len().min(buffer.len());
            let (now, later) = buffer.split_at_mut(count);
            now.copy_from_slice(bytes.get(..count).unwrap_or_default());
            buffer = later;
            address = address.checked_add(count as u64).ok_or(Errno::FAULT)?;
        }
        Ok(())
    }

    /// The bytes up to a zero, of which there must be one within `most`.
    fn string(&mut self, address: u64, most: usize, too_long: Errno) -> Result<Vec<u8>, Errno> {
        let (mut string, mut at) = (Vec::new(), address);
        loop {
            let bytes = self.at(at)?;
            let end = bytes.iter().position(|byte| *byte == 0);
            let count = end.unwrap_or(bytes.len());
            if string.len() + count >= most {
                return Err(too_long);
            }
            string.extend_from_slice(bytes.get(..count).unwrap_or_default());
            if end.is_some() {
                return Ok(string);
            }
            at = at.checked_add(count as u64).ok_or(Errno::FAULT)?;
        }
    }
}

/// The kernel's error number, whatever the library calls it.
pub(super) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
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

    #[test]
    fn a_string_may_cross_blocks() {
        let mut bytes = vec![b'y'; 4000];
        bytes.push(0);
        for start in [0, 1, 500, 3999] {
            let mut memory = Memory::of(rustix::process::getpid());
            let string = memory.string(address(&bytes[start..]), 4097, Errno::TOOBIG).unwrap();
            assert_eq!(string, &bytes[start..4000]);
        }
    }
}
