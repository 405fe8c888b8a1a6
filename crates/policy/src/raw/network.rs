//! `[[network]]`, and the parts that rules share with it.

use std::net::SocketAddr;

use names::{AddressClass, ByteSize, HostPattern, Port};

use super::File;
use crate::pattern::PathPattern;
use crate::problem::Problem;
use crate::read::{At, Entry};
use crate::rule::{AddressRange, Layer, Method, NetworkGrant, Target};

impl File<'_> {
    pub(super) fn network(&mut self, entries: Vec<Entry>) -> Vec<NetworkGrant> {
        entries.into_iter().filter_map(|entry| self.grant(entry)).collect()
    }

    /// Every key is read even if an earlier one is wrong, so that all problems are told.
    fn grant(&mut self, mut entry: Entry) -> Option<NetworkGrant> {
        let line = entry.line;
        let states_ports = entry.mentions("ports");
        let target = self.target(&mut entry, "network", &["ports", "methods", "paths"]);
        let max_bytes = entry.text("max_bytes").map(|text| self.max_bytes(&text));
        let addresses = entry.texts("addresses").map(|list| self.addresses(&list.value));
        let dial = entry.text("dial").map(|text| self.dial(&text));
        let ca_file = entry.text("ca_file");
        let ca_file = ca_file.map(|text| self.path(&text, "network.ca_file", "a file"));
        let mut target = target?;
        if !states_ports {
            target.ports = Some(vec![Port::HTTPS]);
        }
        Some(NetworkGrant {
            target,
            max_bytes: max_bytes.unwrap_or_default(),
            addresses: addresses.unwrap_or_default(),
            dial: dial.unwrap_or_default(),
            ca_file: ca_file.unwrap_or_default(),
            layer: self.layer,
            origin: self.problems.origin(line, "network"),
        })
    }

    /// The destinations that a section names by its host and these keys; `None` if something about
    /// them is wrong.
    pub(super) fn target(
        &mut self,
        entry: &mut Entry,
        section: &str,
        keys: &[&str],
    ) -> Option<Target> {
        let before = self.problems.errors.len();
        let host = entry.text("host").and_then(|text| self.host(&text, section));
        let has = |key| keys.contains(&key);
        let ports = if has("ports") { self.ports(entry, section) } else { None };
        let methods = if has("methods") { entry.texts("methods") } else { None };
        let methods = methods.map(|list| self.methods(list.value, section));
        let key = format!("{section}.paths");
        let paths = if has("paths") { entry.texts("paths") } else { None };
        let paths = paths.map(|list| self.patterns(&list.value, &key, PathPattern::parse));
        let sound = self.problems.errors.len() == before;
        sound.then_some(Target { host: host?, ports, methods, paths })
    }

    pub(super) fn host(&mut self, text: &At<String>, section: &str) -> Option<HostPattern> {
        let key = format!("{section}.host");
        let pattern = self.parsed(text, &key, HostPattern::parse)?;
        let class = pattern.as_host().and_then(names::Host::address).map(AddressClass::of);
        match class {
            // A rule may deny any address; a grant must not lead into a private network unless the
            // owner says so.
            Some(class)
                if section == "network"
                    && !class.is_global_unicast()
                    && self.layer != Layer::Owner =>
            {
                let (given, class) = (text.value.clone(), class.to_string());
                self.problems.add(text.line, key, Problem::PrivateAddress { given, class });
                None
            }
            _ => Some(pattern),
        }
    }

    pub(super) fn ports(&mut self, entry: &mut Entry, section: &str) -> Option<Vec<Port>> {
        let list = entry.wholes("ports")?.value;
        let key = format!("{section}.ports");
        let mut ports: Vec<_> = list.iter().filter_map(|port| self.port(port, &key)).collect();
        ports.sort();
        ports.dedup();
        Some(ports)
    }

    pub(super) fn port(&mut self, number: &At<i64>, key: &str) -> Option<Port> {
        let port = u16::try_from(number.value).ok().and_then(|port| Port::try_from(port).ok());
        if port.is_none() {
            let [given, least, most] = [number.value, 1, 65535].map(|number| number.to_string());
            self.problems.add(number.line, key, Problem::OutOfRange { given, least, most });
        }
        port
    }

    pub(super) fn methods(&mut self, list: Vec<At<String>>, section: &str) -> Vec<Method> {
        let key = format!("{section}.methods");
        let read = |text| self.word(&text, &key, Method::WORDS, Method::of_word);
        let mut methods: Vec<_> =
            list.into_iter().filter_map(read).map(|stated| stated.value).collect();
        methods.sort();
        methods.dedup();
        methods
    }

    /// Reads a list of patterns, sorted.
    pub(super) fn patterns<T: Ord, E: Into<Problem>>(
        &mut self,
        list: &[At<String>],
        key: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        let mut patterns: Vec<_> =
            list.iter().filter_map(|text| self.parsed(text, key, &parse)).collect();
        patterns.sort();
        patterns.dedup();
        patterns
    }

    fn max_bytes(&mut self, text: &At<String>) -> Option<ByteSize> {
        self.parsed(text, "network.max_bytes", ByteSize::parse)
    }

    fn addresses(&mut self, list: &[At<String>]) -> Vec<AddressRange> {
        let wanted = "an address such as 10.1.2.3 or a range such as 10.1.0.0/16";
        let mut ranges: Vec<_> = list
            .iter()
            .filter_map(|text| self.address(text, "network.addresses", AddressRange::parse, wanted))
            .collect();
        ranges.sort();
        ranges.dedup();
        ranges
    }

    fn dial(&mut self, text: &At<String>) -> Option<SocketAddr> {
        let parse = |text: &str| text.parse().ok().filter(|at: &SocketAddr| at.port() != 0);
        self.address(text, "network.dial", parse, "an address and a port such as 10.1.2.3:8443")
    }

    fn address<T>(
        &mut self,
        text: &At<String>,
        key: &str,
        parse: impl Fn(&str) -> Option<T>,
        wanted: &'static str,
    ) -> Option<T> {
        let read = parse(&text.value);
        if read.is_none() {
            let given = names::printable(text.value.as_bytes());
            self.problems.add(text.line, key, Problem::NotAnAddress { given, wanted });
        }
        read
    }
}
