//! The one interface of a sandbox.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::check;

/// Brings the loopback interface of this network namespace up: netdevice(7).
///
/// # Errors
/// `EPERM` without the capability over the namespace.
pub fn bring_loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: `ifreq` is plain data, for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is a whole `ifreq` that outlives the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })
        .map(drop)
}

/// Makes every address of a network one of this network namespace's own, on its loopback interface:
/// rtnetlink(7), a route of type `RTN_LOCAL`.
///
/// # Errors
/// `EPERM` without the capability over the namespace, `EEXIST`.
pub fn own_network(network: Ipv4Addr, prefix: u8) -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None, // NETLINK_ROUTE is number 0
    )?;
    let request = new_local_route(network, prefix);
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0_u8; 256];
    rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    // The error number stands behind the header, 0 for none: netlink(7).
    let errno = answer.get(16..20).and_then(|bytes| bytes.first_chunk::<4>());
    match errno.map(|bytes| i32::from_ne_bytes(*bytes)) {
        Some(0) => Ok(()),
        Some(errno) => Err(io::Error::from_raw_os_error(-errno)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Header, `rtmsg`, destination, interface.
fn new_local_route(network: Ipv4Addr, prefix: u8) -> Vec<u8> {
    const LOOPBACK: u32 = 1;
    const FLAGS: i32 =
        libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let mut body = vec![2, prefix, 0, 0]; // AF_INET, lengths of destination and source, no TOS
    body.extend([libc::RT_TABLE_LOCAL, libc::RTPROT_BOOT, libc::RT_SCOPE_HOST, libc::RTN_LOCAL]);
    body.extend(0_u32.to_ne_bytes());
    for (kind, value) in
        [(libc::RTA_DST, network.octets()), (libc::RTA_OIF, LOOPBACK.to_ne_bytes())]
    {
        body.extend(8_u16.to_ne_bytes());
        body.extend(kind.to_ne_bytes());
        body.extend(value);
    }
    let mut message = Vec::new();
    message.extend((16 + u32::try_from(body.len()).unwrap_or(0)).to_ne_bytes());
    message.extend(libc::RTM_NEWROUTE.to_ne_bytes());
    message.extend(u16::try_from(FLAGS).unwrap_or(0).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}
