//! Mounts: attributes that rustix does not set.

use std::ffi::CStr;
use std::io;

use crate::check_long;

/// Attributes that a mount can be given: mount_setattr(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes(u64);

impl Attributes {
    /// No set-uid programs, no device nodes.
    pub const CONFINED: Self = Self(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV);
    /// The same, and nothing can be written.
    pub const READ_ONLY: Self = Self(Self::CONFINED.0 | libc::MOUNT_ATTR_RDONLY);
}

/// How far a change of attributes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The mount alone.
    Mount,
    /// The mount and every mount below it.
    Tree,
}

/// Adds `attributes` to the mount at `path`.
///
/// # Errors
/// `ENOSYS` before Linux 5.12, `EINVAL` when `path` is not a mount.
pub fn restrict(path: &CStr, attributes: Attributes, reach: Reach) -> io::Result<()> {
    let request =
        libc::mount_attr { attr_set: attributes.0, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = match reach {
        Reach::Mount => 0,
        Reach::Tree => libc::AT_RECURSIVE,
    };
    // SAFETY: the path is a C string and the structure is passed with its own size; both outlive
    // the call, which only reads them.
    check_long(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const request,
            size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}
