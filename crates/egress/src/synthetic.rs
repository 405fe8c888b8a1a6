//! Synthetic addresses: one for each name that was looked up, for the length of a run. No I/O.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use names::Host;

/// A range of IPv4 addresses that lead to the gate and nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntheticRange {
    first: u32,
    size: u32,
}

impl SyntheticRange {
    /// `198.18.0.0/15` (RFC 2544), which no host of the Internet has.
    pub const BENCHMARKING: Self = Self::new(Ipv4Addr::new(198, 18, 0, 0), 15);

    /// All addresses with the first `prefix` bits of `address`.
    #[must_use]
    pub const fn new(address: Ipv4Addr, prefix: u32) -> Self {
        let prefix = if prefix > 32 { 32 } else { prefix };
        let size = match 1_u32.checked_shl(32 - prefix) {
            Some(size) => size,
            None => u32::MAX,
        };
        Self { first: address.to_bits() & !(size - 1), size }
    }

    /// Which one it is of the range.
    fn position(self, address: Ipv4Addr) -> Option<u32> {
        address.to_bits().checked_sub(self.first).filter(|at| *at < self.size)
    }
}

/// Names and their addresses, one to one.
#[derive(Debug)]
pub(crate) struct Table {
    range: SyntheticRange,
    names: Vec<Host>,
    addresses: HashMap<String, Ipv4Addr>,
}

impl Table {
    pub(crate) fn new(range: SyntheticRange) -> Self {
        Self { range, names: Vec::new(), addresses: HashMap::new() }
    }

    /// The address of a name that is allowed; the same for as long as the run lives. None if the
    /// range is used up.
    pub(crate) fn address(&mut self, host: &Host) -> Option<Ipv4Addr> {
        if let Some(address) = self.known(host.as_str()) {
            return Some(address);
        }
        // The first address of a range is its own name, the last one its broadcast.
        let at = u32::try_from(self.names.len()).ok()?.checked_add(1)?;
        if at >= self.range.size.checked_sub(1)? {
            return None;
        }
        let address = Ipv4Addr::from_bits(self.range.first.checked_add(at)?);
        self.names.push(host.clone());
        self.addresses.insert(host.to_string(), address);
        Some(address)
    }

    /// The address that the host with this canonical text was given.
    pub(crate) fn known(&self, host: &str) -> Option<Ipv4Addr> {
        self.addresses.get(host).copied()
    }

    /// The name that was given this address.
    pub(crate) fn name(&self, address: Ipv4Addr) -> Option<&Host> {
        let at = self.range.position(address)?.checked_sub(1)?;
        self.names.get(usize::try_from(at).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_one_to_one_until_the_range_is_used_up() {
        let mut table = Table::new(SyntheticRange::new(Ipv4Addr::new(198, 18, 0, 77), 29));
        let host = |number| Host::parse(&format!("h{number}.example.com")).unwrap();
        for number in 1..=6 {
            let address = table.address(&host(number)).unwrap();
            assert_eq!(address, Ipv4Addr::new(198, 18, 0, 72 + number));
            assert_eq!(table.name(address), Some(&host(number)));
            assert_eq!(table.address(&host(number)), Some(address));
        }
        assert_eq!(table.address(&host(7)), None);
        assert_eq!(table.name(Ipv4Addr::new(198, 18, 0, 72)), None);
        assert_eq!(table.name(Ipv4Addr::new(198, 18, 0, 79)), None);
        assert_eq!(table.name(Ipv4Addr::new(198, 17, 0, 73)), None);
    }

    #[test]
    fn the_range_has_room() {
        let range = SyntheticRange::BENCHMARKING;
        assert_eq!(range.position(Ipv4Addr::new(198, 19, 255, 255)), Some((1 << 17) - 1));
        assert_eq!(range.position(Ipv4Addr::new(198, 20, 0, 0)), None);
        assert_eq!(range.position(Ipv4Addr::new(198, 17, 255, 255)), None);
    }
}
