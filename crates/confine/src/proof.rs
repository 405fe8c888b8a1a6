//! The self-test: forbidden things, tried from inside after the last step.
//!
//! The plan says what should hold; this says what does. One thing that works and the sandbox is
//! refused.

use std::fs;
use std::io;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::plan::Filter;
use crate::report::{Facility, Failure, Proof};

/// Tries each forbidden thing once.
///
/// # Errors
/// The first one that worked.
pub(crate) fn run(filter: Filter) -> Result<Vec<Proof>, Failure> {
    let mut proofs = vec![
        refused("mount a file system", mount())?,
        refused("create an io_uring", call(libc::SYS_io_uring_setup, 1))?,
        refused("read a keyring", call(libc::SYS_keyctl, 0))?,
        refused("load a kernel program", call(libc::SYS_bpf, 0))?,
        refused("open a packet socket", packet_socket())?,
        refused("write below /usr", fs::write("/usr/.loop-self-test", ""))?,
        refused("write to the root", fs::write("/.loop-self-test", ""))?,
        refused("reach an outside address", outside_address())?,
    ];
    if !filter.user_namespaces {
        let new_user = libc::c_ulong::from(libc::CLONE_NEWUSER.cast_unsigned());
        proofs.push(refused("create a user namespace", call(libc::SYS_unshare, new_user))?);
    }
    Ok(proofs)
}

fn refused(tried: &str, answer: io::Result<()>) -> Result<Proof, Failure> {
    match answer {
        Ok(()) => Err(Failure::new(Facility::SelfTest, tried, &"it worked")),
        Err(error) => Ok(Proof { tried: tried.to_owned(), answer: describe(&error) }),
    }
}

/// The name of the error as the manual pages have it.
fn describe(error: &io::Error) -> String {
    let name = match error.raw_os_error() {
        Some(libc::EPERM) => "EPERM",
        Some(libc::EACCES) => "EACCES",
        Some(libc::EROFS) => "EROFS",
        Some(libc::ENOSYS) => "ENOSYS",
        Some(libc::ENOENT) => "ENOENT",
        Some(libc::ENETUNREACH) => "ENETUNREACH",
        _ => return error.to_string(),
    };
    name.to_owned()
}

fn call(number: i64, first: libc::c_ulong) -> io::Result<()> {
    sys::process::probe(number, first)
}

fn mount() -> io::Result<()> {
    let flags = rustix::mount::MountFlags::empty();
    Ok(rustix::mount::mount("tmpfs", "/tmp", "tmpfs", flags, None)?)
}

fn packet_socket() -> io::Result<()> {
    Ok(rustix::net::socket(AddressFamily::PACKET, SocketType::DGRAM, None).map(drop)?)
}

/// A datagram socket asks the routing table on connect and sends nothing: ip(7). The address is
/// one that documentation uses: RFC 5737.
fn outside_address() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let address = std::net::SocketAddr::from(([192, 0, 2, 1], 9));
    Ok(rustix::net::connect(&socket, &address)?)
}
