//! A call to change a file or a name, read from the caller's registers and memory.

use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::process::Pid;
use sys::notify::Notification;

use crate::gate::memory::{CallPath, Start, low_half, words};

/// What a caller wants to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::gate) enum FileCall {
    /// open(2), openat(2), creat(2).
    Open { path: CallPath, flags: i32, mode: u32 },
    /// openat2(2) with rules for how the path is followed.
    OpenWithRules { path: CallPath },
    /// rename(2).
    Rename { from: CallPath, to: CallPath, flags: u32 },
    /// link(2).
    Link { from: CallPath, to: CallPath, follow: bool, empty_path: bool },
    /// symlink(2).
    Symlink { target: Vec<u8>, at: CallPath },
    /// unlink(2), rmdir(2).
    Unlink { path: CallPath, directory: bool },
    /// mkdir(2).
    MakeDirectory { path: CallPath, mode: u32 },
    /// mknod(2).
    MakeNode { path: CallPath, mode: u32 },
    /// truncate(2).
    Truncate { path: CallPath, length: u64 },
    /// chmod(2).
    ChangeMode { path: CallPath, mode: u32, follow: bool },
    /// fchmod(2).
    ChangeModeOf { descriptor: i32, mode: u32 },
    /// chown(2); −1 leaves a number as it is.
    ChangeOwner { path: CallPath, owner: u32, group: u32, follow: bool },
    /// fchown(2).
    ChangeOwnerOf { descriptor: i32, owner: u32, group: u32 },
    /// utimensat(2), when it was read and when it was changed.
    SetTimes { path: CallPath, times: [Timespec; 2], follow: bool },
    /// futimens(3).
    SetTimesOf { descriptor: i32, times: [Timespec; 2] },
    /// setxattr(2), removexattr(2).
    ChangeAttribute { path: CallPath, follow: bool },
    /// fsetxattr(2), fremovexattr(2).
    ChangeAttributeOf { descriptor: i32 },
    /// access(2), with the question whether it can be written.
    Access { path: CallPath, mode: i32, follow: bool },
}

impl FileCall {
    /// Reads the call.
    ///
    /// # Errors
    /// What the kernel would answer, or `ENOSYS` for a call that is none of these.
    pub(in crate::gate) fn read(call: &Notification) -> Result<Self, Errno> {
        #[cfg(target_arch = "x86_64")]
        if let Some(read) = read_old(call) {
            return read;
        }
        let reader = Reader { thread: call.thread, args: call.args };
        read_at(call.call, &reader)
    }
}

/// The arguments of one call.
struct Reader {
    thread: Pid,
    args: [u64; 6],
}

impl Reader {
    fn arg(&self, number: usize) -> u64 {
        self.args.get(number).copied().unwrap_or_default()
    }

    fn int(&self, number: usize) -> i32 {
        low_half(self.arg(number))
    }

    fn bits(&self, number: usize) -> u32 {
        self.int(number).cast_unsigned()
    }

    /// Two times behind a pointer; none means now.
    fn times(
        &self,
        number: usize,
        read: impl Fn(u64) -> Result<[[u64; 2]; 2], Errno>,
    ) -> Result<[Timespec; 2], Errno> {
        let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let at = self.arg(number);
        if at == 0 {
            return Ok([now, now]);
        }
        let time = |[seconds, nanos]: [u64; 2]| Timespec {
            tv_sec: seconds.cast_signed(),
            tv_nsec: nanos.cast_signed(),
        };
        let [access, change] = read(at)?;
        Ok([time(access), time(change)])
    }

    /// A path from the working directory.
    fn path(&self, number: usize) -> Result<CallPath, Errno> {
        CallPath::read(self.thread, Start::WorkingDirectory, self.arg(number))
    }

    /// A path from the directory that the argument before it names.
    fn path_at(&self, number: usize) -> Result<CallPath, Errno> {
        CallPath::read(self.thread, Start::of(self.arg(number)), self.arg(number + 1))
    }
}

/// The calls that only the oldest architecture has.
#[cfg(target_arch = "x86_64")]
fn read_old(call: &Notification) -> Option<Result<FileCall, Errno>> {
    let reader = Reader { thread: call.thread, args: call.args };
    let known = matches!(
        call.call,
        libc::SYS_open
            | libc::SYS_creat
            | libc::SYS_rename
            | libc::SYS_link
            | libc::SYS_symlink
            | libc::SYS_unlink
            | libc::SYS_rmdir
            | libc::SYS_mkdir
            | libc::SYS_mknod
            | libc::SYS_chmod
            | libc::SYS_chown
            | libc::SYS_lchown
            | libc::SYS_utime
            | libc::SYS_utimes
            | libc::SYS_futimesat
            | libc::SYS_access
    );
    known.then(|| old(call.call, &reader))
}

#[cfg(target_arch = "x86_64")]
fn old(call: i64, reader: &Reader) -> Result<FileCall, Errno> {
    Ok(match call {
        libc::SYS_open => {
            FileCall::Open { path: reader.path(0)?, flags: reader.int(1), mode: reader.bits(2) }
        }
        libc::SYS_creat => FileCall::Open {
            path: reader.path(0)?,
            flags: libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC,
            mode: reader.bits(1),
        },
        libc::SYS_rename => {
            FileCall::Rename { from: reader.path(0)?, to: reader.path(1)?, flags: 0 }
        }
        libc::SYS_link => FileCall::Link {
            from: reader.path(0)?,
            to: reader.path(1)?,
            follow: false,
            empty_path: false,
        },
        libc::SYS_symlink => {
            FileCall::Symlink { target: reader.path(0)?.bytes, at: reader.path(1)? }
        }
        libc::SYS_unlink => FileCall::Unlink { path: reader.path(0)?, directory: false },
        libc::SYS_rmdir => FileCall::Unlink { path: reader.path(0)?, directory: true },
        libc::SYS_mkdir => FileCall::MakeDirectory { path: reader.path(0)?, mode: reader.bits(1) },
        libc::SYS_mknod => FileCall::MakeNode { path: reader.path(0)?, mode: reader.bits(1) },
        libc::SYS_chmod => {
            FileCall::ChangeMode { path: reader.path(0)?, mode: reader.bits(1), follow: true }
        }
        libc::SYS_chown | libc::SYS_lchown => FileCall::ChangeOwner {
            path: reader.path(0)?,
            owner: reader.bits(1),
            group: reader.bits(2),
            follow: call == libc::SYS_chown,
        },
        libc::SYS_utime => {
            let seconds = |[access, change]: [u64; 2]| [[access, 0], [change, 0]];
            let times = reader.times(1, |at| Ok(seconds(words::<2>(reader.thread, at)?)))?;
            FileCall::SetTimes { path: reader.path(0)?, times, follow: true }
        }
        libc::SYS_utimes => {
            let times = reader.times(1, |at| micros(reader.thread, at))?;
            FileCall::SetTimes { path: reader.path(0)?, times, follow: true }
        }
        libc::SYS_futimesat => {
            let times = reader.times(2, |at| micros(reader.thread, at))?;
            FileCall::SetTimes { path: reader.path_at(0)?, times, follow: true }
        }
        libc::SYS_access => {
            FileCall::Access { path: reader.path(0)?, mode: reader.int(1), follow: true }
        }
        _ => return Err(Errno::NOSYS),
    })
}

/// Seconds and microseconds, twice: utimes(2).
#[cfg(target_arch = "x86_64")]
fn micros(thread: Pid, at: u64) -> Result<[[u64; 2]; 2], Errno> {
    let [access, a, change, c] = words::<4>(thread, at)?;
    let nanos = |micros: u64| micros.checked_mul(1000).ok_or(Errno::INVAL);
    Ok([[access, nanos(a)?], [change, nanos(c)?]])
}

fn read_at(call: i64, reader: &Reader) -> Result<FileCall, Errno> {
    let no_follow = |flags: i32| flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    Ok(match call {
        libc::SYS_openat => {
            FileCall::Open { path: reader.path_at(0)?, flags: reader.int(2), mode: reader.bits(3) }
        }
        libc::SYS_openat2 => open_with_rules(reader)?,
        libc::SYS_renameat => {
            FileCall::Rename { from: reader.path_at(0)?, to: reader.path_at(2)?, flags: 0 }
        }
        libc::SYS_renameat2 => FileCall::Rename {
            from: reader.path_at(0)?,
            to: reader.path_at(2)?,
            flags: reader.bits(4),
        },
        libc::SYS_linkat => FileCall::Link {
            from: reader.path_at(0)?,
            to: reader.path_at(2)?,
            follow: reader.int(4) & libc::AT_SYMLINK_FOLLOW != 0,
            empty_path: reader.int(4) & libc::AT_EMPTY_PATH != 0,
        },
        libc::SYS_symlinkat => {
            FileCall::Symlink { target: reader.path(0)?.bytes, at: reader.path_at(1)? }
        }
        libc::SYS_unlinkat => FileCall::Unlink {
            path: reader.path_at(0)?,
            directory: reader.int(2) & libc::AT_REMOVEDIR != 0,
        },
        libc::SYS_mkdirat => {
            FileCall::MakeDirectory { path: reader.path_at(0)?, mode: reader.bits(2) }
        }
        libc::SYS_mknodat => FileCall::MakeNode { path: reader.path_at(0)?, mode: reader.bits(2) },
        libc::SYS_truncate => FileCall::Truncate { path: reader.path(0)?, length: reader.arg(1) },
        libc::SYS_fchmod => {
            FileCall::ChangeModeOf { descriptor: reader.int(0), mode: reader.bits(1) }
        }
        libc::SYS_fchmodat => {
            FileCall::ChangeMode { path: reader.path_at(0)?, mode: reader.bits(2), follow: true }
        }
        libc::SYS_fchmodat2 => change_mode(reader, no_follow(reader.int(3)))?,
        libc::SYS_fchown => FileCall::ChangeOwnerOf {
            descriptor: reader.int(0),
            owner: reader.bits(1),
            group: reader.bits(2),
        },
        libc::SYS_fchownat => change_owner(reader)?,
        libc::SYS_utimensat => set_times(reader)?,
        libc::SYS_setxattr | libc::SYS_removexattr => {
            FileCall::ChangeAttribute { path: reader.path(0)?, follow: true }
        }
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => {
            FileCall::ChangeAttribute { path: reader.path(0)?, follow: false }
        }
        libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
            FileCall::ChangeAttributeOf { descriptor: reader.int(0) }
        }
        libc::SYS_faccessat => {
            FileCall::Access { path: reader.path_at(0)?, mode: reader.int(2), follow: true }
        }
        libc::SYS_faccessat2 => FileCall::Access {
            path: reader.path_at(0)?,
            mode: reader.int(2),
            follow: !no_follow(reader.int(3)),
        },
        _ => return Err(Errno::NOSYS),
    })
}

fn change_mode(reader: &Reader, no_follow: bool) -> Result<FileCall, Errno> {
    let (path, mode) = (reader.path_at(0)?, reader.bits(2));
    match path.start {
        Start::Descriptor(descriptor)
            if path.bytes.is_empty() && reader.int(3) & libc::AT_EMPTY_PATH != 0 =>
        {
            Ok(FileCall::ChangeModeOf { descriptor, mode })
        }
        _ => Ok(FileCall::ChangeMode { path, mode, follow: !no_follow }),
    }
}

fn change_owner(reader: &Reader) -> Result<FileCall, Errno> {
    let (path, flags) = (reader.path_at(0)?, reader.int(4));
    let (owner, group) = (reader.bits(2), reader.bits(3));
    match path.start {
        Start::Descriptor(descriptor)
            if path.bytes.is_empty() && flags & libc::AT_EMPTY_PATH != 0 =>
        {
            Ok(FileCall::ChangeOwnerOf { descriptor, owner, group })
        }
        _ => {
            let follow = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
            Ok(FileCall::ChangeOwner { path, owner, group, follow })
        }
    }
}

fn set_times(reader: &Reader) -> Result<FileCall, Errno> {
    let times = reader.times(2, |at| {
        let [access, a, change, c] = words::<4>(reader.thread, at)?;
        Ok([[access, a], [change, c]])
    })?;
    if reader.arg(1) == 0 {
        return Ok(FileCall::SetTimesOf { descriptor: reader.int(0), times });
    }
    let follow = reader.int(3) & libc::AT_SYMLINK_NOFOLLOW == 0;
    Ok(FileCall::SetTimes { path: reader.path_at(0)?, times, follow })
}

/// The rules are in memory: flags, mode and how to follow, 64 bits each.
fn open_with_rules(reader: &Reader) -> Result<FileCall, Errno> {
    let size = usize::try_from(reader.arg(3)).map_err(|_| Errno::INVAL)?;
    if size < 24 {
        return Err(Errno::INVAL);
    }
    let rules = words::<3>(reader.thread, reader.arg(2))?;
    let path = reader.path_at(0)?;
    match rules {
        [flags, mode, 0] => {
            let flags = i32::try_from(flags).map_err(|_| Errno::INVAL)?;
            let mode = u32::try_from(mode).map_err(|_| Errno::INVAL)?;
            Ok(FileCall::Open { path, flags, mode })
        }
        _ => Ok(FileCall::OpenWithRules { path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(call: i64, args: [u64; 6]) -> Result<FileCall, Errno> {
        let thread = rustix::process::getpid();
        FileCall::read(&Notification { id: 0, thread, call, args })
    }

    fn at(path: &std::ffi::CStr) -> u64 {
        path.as_ptr() as u64
    }

    fn from(number: i32, path: &[u8]) -> CallPath {
        CallPath { start: Start::Descriptor(number), bytes: path.to_vec() }
    }

    #[test]
    fn the_newer_calls() {
        let here = u64::from(libc::AT_FDCWD.cast_unsigned());
        let flags = u64::from((libc::O_WRONLY | libc::O_CREAT).cast_unsigned());
        let open = own(libc::SYS_openat, [5, at(c"a"), flags, 0o644, 0, 0]).unwrap();
        assert_eq!(
            open,
            FileCall::Open {
                path: from(5, b"a"),
                flags: libc::O_WRONLY | libc::O_CREAT,
                mode: 0o644
            }
        );
        let rename = own(libc::SYS_renameat2, [3, at(c"a"), here, at(c"b"), 2, 0]).unwrap();
        let to = CallPath { start: Start::WorkingDirectory, bytes: b"b".to_vec() };
        assert_eq!(rename, FileCall::Rename { from: from(3, b"a"), to, flags: 2 });
        let rmdir = [3, at(c"d"), libc::AT_REMOVEDIR.cast_unsigned().into(), 0, 0, 0];
        let unlink = FileCall::Unlink { path: from(3, b"d"), directory: true };
        assert_eq!(own(libc::SYS_unlinkat, rmdir).unwrap(), unlink);
        assert_eq!(own(libc::SYS_read, [0; 6]), Err(Errno::NOSYS));
        assert_eq!(own(libc::SYS_unlinkat, [0; 6]), Err(Errno::FAULT));
    }

    #[test]
    fn rules_are_read_from_memory() {
        let how = [u64::from(libc::O_RDWR.cast_unsigned()), 0, 0];
        let call = |how: &[u64; 3], size| {
            own(libc::SYS_openat2, [3, at(c"a"), how.as_ptr() as u64, size, 0, 0])
        };
        let open = FileCall::Open { path: from(3, b"a"), flags: libc::O_RDWR, mode: 0 };
        assert_eq!(call(&how, 24).unwrap(), open);
        assert_eq!(call(&how, 8), Err(Errno::INVAL));
        let ruled = [how[0], 0, 8];
        assert_eq!(call(&ruled, 24).unwrap(), FileCall::OpenWithRules { path: from(3, b"a") });
    }
}
