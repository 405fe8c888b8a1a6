//! `[[lease]]`: which credential is asked for, and how it is narrowed.

use names::Span;

use super::{File, is_id};
use crate::lease::{self, Narrowed};
use crate::problem::Problem;
use crate::read::{At, Entry};

impl File<'_> {
    pub(super) fn leases(&mut self, entries: Vec<Entry>) -> Vec<Narrowed> {
        entries.into_iter().filter_map(|entry| self.lease(entry)).collect()
    }

    /// Every key is read even if an earlier one is wrong, so that all problems are told.
    fn lease(&mut self, mut entry: Entry) -> Option<Narrowed> {
        let line = entry.line;
        let before = self.problems.errors.len();
        let name = entry.text("name").and_then(|text| self.lease_name(text));
        let host = entry.text("host");
        let host = host.and_then(|text| self.parsed(&text, "lease.host", lease::one_host));
        let ports = self.ports(&mut entry, "lease");
        let methods = entry.texts("methods").map(|list| self.methods(list.value, "lease"));
        let path = entry.text("path_prefix");
        let path = path.and_then(|text| self.parsed(&text, "lease.path_prefix", lease::prefix));
        let variable = entry.text("env");
        let variable = variable.and_then(|text| self.parsed(&text, "lease.env", lease::variable));
        let lasts = entry.text("for");
        let lasts = lasts.and_then(|text| self.parsed(&text, "lease.for", Span::parse));
        let sound = self.problems.errors.len() == before;
        let name = name.filter(|_| sound)?;
        let origin = self.problems.origin(line, "lease");
        let paths = path.map(|path| vec![path]);
        let layer = self.layer;
        Some(Narrowed { name, host, ports, methods, paths, variable, lasts, layer, origin })
    }

    fn lease_name(&mut self, text: At<String>) -> Option<String> {
        if is_id(&text.value) {
            return Some(text.value);
        }
        let problem = Problem::NotALeaseName(names::printable(text.value.as_bytes()));
        self.problems.add(text.line, "lease.name", problem);
        None
    }
}
