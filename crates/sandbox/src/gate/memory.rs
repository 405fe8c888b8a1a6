//! The registers and the memory of a stopped thread, read.
//!
//! Everything is capped, and nothing is believed: the memory can change while it is read, so what
//! comes out of here counts only once the notification was found still valid, and what the kernel
//! then does is compared with it or never left to the kernel.

use rustix::io::Errno;
use rustix::process::Pid;

/// The longest path that the kernel takes, with its end: `PATH_MAX`.
const LONGEST_PATH: usize = 4096;
/// The most bytes of arguments that are read. The kernel takes less: execve(2).
const LONGEST_ARGUMENTS: usize = 8 << 20;
/// Memory is read in blocks of this size and alignment, so that a read never crosses into a page
/// that is not there.
const PAGE: u64 = 4096;

/// Where a relative path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gate) enum Start {
    /// The caller's working directory.
    WorkingDirectory,
    /// A descriptor of the caller's.
    Descriptor(i32),
}

impl Start {
    /// From an argument that may be `AT_FDCWD`; the kernel looks at its lower half.
    pub(in crate::gate) fn of(argument: u64) -> Self {
        match low_half(argument) {
            libc::AT_FDCWD => Self::WorkingDirectory,
            descriptor => Self::Descriptor(descriptor),
        }
    }
}

/// A path as the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::gate) struct CallPath {
    pub(in crate::gate) start: Start,
    pub(in crate::gate) bytes: Vec<u8>,
}

impl CallPath {
    /// Reads the path at `address`.
    pub(in crate::gate) fn read(thread: Pid, start: Start, address: u64) -> Result<Self, Errno> {
        let bytes = Memory::of(thread).string(address, LONGEST_PATH, Errno::NAMETOOLONG)?;
        Ok(Self { start, bytes })
    }
}

/// The kernel takes many arguments as `int`, whatever the upper half of the register holds.
#[expect(clippy::cast_possible_truncation, reason = "this is what the kernel does")]
pub(in crate::gate) fn low_half(argument: u64) -> i32 {
    (argument as u32).cast_signed()
}

/// So many 64-bit words at `address`.
pub(in crate::gate) fn words<const COUNT: usize>(
    thread: Pid,
    address: u64,
) -> Result<[u64; COUNT], Errno> {
    let mut memory = Memory::of(thread);
    let mut words = [0; COUNT];
    for (word, at) in words.iter_mut().zip((0..).step_by(8)) {
        let mut bytes = [0; 8];
        memory.fill(address.checked_add(at).ok_or(Errno::FAULT)?, &mut bytes)?;
        *word = u64::from_ne_bytes(bytes);
    }
    Ok(words)
}

/// The strings that a vector of pointers names, up to the null pointer.
pub(in crate::gate) fn strings(thread: Pid, vector: u64) -> Result<Vec<Vec<u8>>, Errno> {
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
pub(in crate::gate) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_may_cross_blocks() {
        let mut bytes = vec![b'y'; 4000];
        bytes.push(0);
        for start in [0, 1, 500, 3999] {
            let mut memory = Memory::of(rustix::process::getpid());
            let string =
                memory.string(bytes[start..].as_ptr() as u64, 4097, Errno::TOOBIG).unwrap();
            assert_eq!(string, &bytes[start..4000]);
        }
    }
}
