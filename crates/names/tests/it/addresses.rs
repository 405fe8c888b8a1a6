//! Address classes against a table of blocks, by longest prefix: a second way to write the same
//! registries.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use names::AddressClass::{self, *};
use proptest::prelude::*;

/// IANA IPv4 special-purpose registry, and what Loop adds.
const V4: &[(&str, u32, AddressClass)] = &[
    ("0.0.0.0", 0, GlobalUnicast),
    ("0.0.0.0", 8, Unspecified),
    ("10.0.0.0", 8, Private),
    ("100.64.0.0", 10, SharedNat),
    ("127.0.0.0", 8, Loopback),
    ("168.63.129.16", 32, CloudHost),
    ("169.254.0.0", 16, LinkLocal),
    ("172.16.0.0", 12, Private),
    ("192.0.0.0", 24, Reserved),
    ("192.0.2.0", 24, Documentation),
    ("192.88.99.0", 24, Reserved),
    ("192.168.0.0", 16, Private),
    ("198.18.0.0", 15, Benchmarking),
    ("198.51.100.0", 24, Documentation),
    ("203.0.113.0", 24, Documentation),
    ("224.0.0.0", 4, Multicast),
    ("240.0.0.0", 4, Reserved),
    ("255.255.255.255", 32, Broadcast),
];

/// What an IPv6 block is: a class of its own, or that of an IPv4 address from a bit on.
#[derive(Debug, Clone, Copy)]
enum Is {
    Plain(AddressClass),
    Carries(u32),
    Teredo,
}

const V6: &[(&str, u32, Is)] = &[
    ("::", 0, Is::Plain(Reserved)),
    ("2000::", 3, Is::Plain(GlobalUnicast)),
    ("::", 96, Is::Carries(96)),
    ("::", 128, Is::Plain(Unspecified)),
    ("::1", 128, Is::Plain(Loopback)),
    ("::ffff:0:0", 96, Is::Carries(96)),
    ("::ffff:0:0:0", 96, Is::Carries(96)),
    ("64:ff9b::", 96, Is::Carries(96)),
    ("64:ff9b:1::", 48, Is::Plain(Reserved)),
    ("100::", 64, Is::Plain(Reserved)),
    ("2001::", 23, Is::Plain(Reserved)),
    ("2001::", 32, Is::Teredo),
    ("2001:2::", 48, Is::Plain(Benchmarking)),
    ("2001:db8::", 32, Is::Plain(Documentation)),
    ("2002::", 16, Is::Carries(16)),
    ("3fff::", 20, Is::Plain(Documentation)),
    ("5f00::", 16, Is::Plain(Reserved)),
    ("fc00::", 7, Is::Plain(Private)),
    ("fe80::", 10, Is::Plain(LinkLocal)),
    ("fec0::", 10, Is::Plain(Private)),
    ("ff00::", 8, Is::Plain(Multicast)),
];

fn has_prefix(bits: u128, prefix: u128, length: u32, width: u32) -> bool {
    length == 0 || (bits ^ prefix) >> (width - length) == 0
}

fn expected_v4(address: Ipv4Addr) -> AddressClass {
    let bits = |text: &str| u128::from(text.parse::<Ipv4Addr>().unwrap().to_bits());
    let of = u128::from(address.to_bits());
    let blocks = V4.iter().filter(|(block, length, _)| has_prefix(of, bits(block), *length, 32));
    blocks.max_by_key(|(_, length, _)| *length).unwrap().2
}

fn expected_v6(address: Ipv6Addr) -> AddressClass {
    let bits = |text: &str| text.parse::<Ipv6Addr>().unwrap().to_bits();
    let of = address.to_bits();
    let carried = |from: u32| expected_v4(Ipv4Addr::from_bits((of >> (96 - from)) as u32));
    let blocks = V6.iter().filter(|(block, length, _)| has_prefix(of, bits(block), *length, 128));
    match blocks.max_by_key(|(_, length, _)| *length).unwrap().2 {
        Is::Plain(GlobalUnicast) if matches!((of >> 32) as u32, 0x5efe | 0x0200_5efe) => {
            carried(96)
        }
        Is::Plain(class) => class,
        Is::Carries(from) => carried(from),
        Is::Teredo => carried(32).max(expected_v4(Ipv4Addr::from_bits(!(of as u32)))),
    }
}

fn class(text: &str) -> AddressClass {
    AddressClass::of(text.parse().unwrap())
}

#[test]
fn both_ends_of_every_block() {
    for (block, length, class) in V4 {
        let first = block.parse::<Ipv4Addr>().unwrap().to_bits();
        let last = first | u32::MAX.checked_shr(*length).unwrap_or(0);
        for bits in [first, last, first.wrapping_sub(1), last.wrapping_add(1)] {
            let address = Ipv4Addr::from_bits(bits);
            assert_eq!(AddressClass::of(address.into()), expected_v4(address), "{address}");
        }
        assert!(*length == 0 || AddressClass::of(block.parse().unwrap()) == *class, "{block}");
    }
    for (block, length, _) in V6 {
        let first = block.parse::<Ipv6Addr>().unwrap().to_bits();
        let last = first | u128::MAX.checked_shr(*length).unwrap_or(0);
        for bits in [first, last, first.wrapping_sub(1), last.wrapping_add(1)] {
            let address = Ipv6Addr::from_bits(bits);
            assert_eq!(AddressClass::of(address.into()), expected_v6(address), "{address}");
        }
    }
}

#[test]
fn the_attacks() {
    for text in [
        "0.0.0.0",
        "127.0.0.1",
        "10.1.2.3",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "::ffff:0:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:0a00:0001::1",
        "2001:0:7f00:1::",
        "2001:0:808:808::80ff:fffe",
        "2606:4700::5efe:10.0.0.1",
        "fe80::1",
        "fec0::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
        "3fff::1",
        "2001:2::1",
        "100::1",
        "5f00::1",
        "4000::1",
    ] {
        assert!(!class(text).is_global_unicast(), "{text} {}", class(text));
    }
    for text in [
        "8.8.8.8",
        "1.1.1.1",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "2a00:1450::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
        "2001:200::1",
    ] {
        assert_eq!(class(text), GlobalUnicast, "{text}");
    }
}

/// Addresses in and around the blocks, where the mistakes are.
fn near_a_block() -> impl Strategy<Value = Ipv6Addr> {
    let block = prop::sample::select(V6).prop_map(|(block, length, _)| (block, length));
    let inner = prop::sample::select(V4).prop_map(|(block, _, _)| block);
    (block, inner, any::<u128>(), 0u32..4).prop_map(|((block, length), v4, noise, how)| {
        let block = block.parse::<Ipv6Addr>().unwrap().to_bits();
        let v4 = u128::from(v4.parse::<Ipv4Addr>().unwrap().to_bits());
        let free = u128::MAX.checked_shr(length).unwrap_or(0);
        Ipv6Addr::from_bits(match how {
            0 => block | noise & free,
            1 => block | v4 & free,
            2 => block | (v4 << 96).checked_shr(length).unwrap_or(0) & free,
            _ => block ^ 1u128.checked_shl(noise as u32 % 128).unwrap_or(0),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn v4_agrees_with_the_table(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        prop_assert_eq!(AddressClass::of(IpAddr::V4(address)), expected_v4(address));
    }

    #[test]
    fn v6_agrees_with_the_table(address in near_a_block()) {
        prop_assert_eq!(AddressClass::of(IpAddr::V6(address)), expected_v6(address), "{}", address);
    }
}
