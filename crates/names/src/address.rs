//! What kind of place an IP address is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// What kind of place an IP address is, after the IANA special-purpose registries.
///
/// An IPv6 address that carries an IPv4 address (mapped, compatible, translated, NAT64, 6to4,
/// Teredo, ISATAP) is what the carried address is, unless it is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AddressClass {
    /// A place on the public Internet: the only class that may be dialled without being named.
    GlobalUnicast,
    /// `0.0.0.0/8`, `::`.
    Unspecified,
    /// `127.0.0.0/8`, `::1`.
    Loopback,
    /// RFC 1918, unique local `fc00::/7`, site local `fec0::/10`.
    Private,
    /// Between a customer and their carrier's NAT: `100.64.0.0/10`.
    SharedNat,
    /// `169.254.0.0/16` with the metadata services of clouds, `fe80::/10`.
    LinkLocal,
    /// A public address that a cloud answers on the machine itself: `168.63.129.16`.
    CloudHost,
    /// `224.0.0.0/4`, `ff00::/8`.
    Multicast,
    /// `255.255.255.255`.
    Broadcast,
    /// For examples in text: `192.0.2.0/24`, `2001:db8::/32`, …
    Documentation,
    /// `198.18.0.0/15`, `2001:2::/48`; Loop's synthetic addresses are of this range.
    Benchmarking,
    /// Everything else that is not assigned to hosts.
    Reserved,
}

impl AddressClass {
    /// The class of `address`.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// May this be dialled without being named?
    #[must_use]
    pub fn is_global_unicast(self) -> bool {
        self == Self::GlobalUnicast
    }
}

fn of_v4(address: Ipv4Addr) -> AddressClass {
    use AddressClass as Class;
    match address.octets() {
        [0, ..] => Class::Unspecified,
        [127, ..] => Class::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Class::Private,
        [100, 64..=127, ..] => Class::SharedNat,
        [169, 254, ..] => Class::LinkLocal,
        [168, 63, 129, 16] => Class::CloudHost,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Class::Documentation,
        [198, 18..=19, ..] => Class::Benchmarking,
        // Protocol assignments; the withdrawn anycast of 6to4 relays (RFC 7526).
        [192, 0, 0, _] | [192, 88, 99, _] => Class::Reserved,
        [224..=239, ..] => Class::Multicast,
        [255, 255, 255, 255] => Class::Broadcast,
        [240..=255, ..] => Class::Reserved,
        _ => Class::GlobalUnicast,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    use AddressClass as Class;
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Class::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Class::Loopback,
        // Compatible ::/96, mapped ::ffff:0:0/96, translated ::ffff:0:0:0/96.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            of_v4(carried(high, low))
        }
        // NAT64, well-known prefix (RFC 6052). The local-use 64:ff9b:1::/48 (RFC 8215) can lead
        // anywhere, and falls to the last arm.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => of_v4(carried(high, low)),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => of_v4(carried(high, low)),
        // Teredo (RFC 4380): the server, and the client's address with its bits inverted.
        [0x2001, 0, s_high, s_low, _, _, c_high, c_low] => {
            of_v4(carried(s_high, s_low)).max(of_v4(carried(!c_high, !c_low)))
        }
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Class::Documentation,
        [0x2001, 2, 0, ..] => Class::Benchmarking,
        // The rest of the protocol assignments, 2001::/23.
        [0x2001, 0..=0x01ff, ..] => Class::Reserved,
        [0xfe80..=0xfebf, ..] => Class::LinkLocal,
        [0xfec0..=0xfeff, ..] | [0xfc00..=0xfdff, ..] => Class::Private,
        [0xff00..=0xffff, ..] => Class::Multicast,
        // ISATAP (RFC 5214): the interface identifier carries the address.
        [0x2000..=0x3fff, _, _, _, 0 | 0x0200, 0x5efe, high, low] => of_v4(carried(high, low)),
        [0x2000..=0x3fff, ..] => Class::GlobalUnicast,
        _ => Class::Reserved,
    }
}

fn carried(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GlobalUnicast => "public",
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::SharedNat => "carrier NAT",
            Self::LinkLocal => "link-local",
            Self::CloudHost => "cloud host",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Documentation => "documentation",
            Self::Benchmarking => "benchmarking",
            Self::Reserved => "reserved",
        })
    }
}
