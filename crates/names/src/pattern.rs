//! Patterns over hosts.

use std::fmt;

use crate::host::below;
use crate::text::as_text;
use crate::{Host, NameError};

const KIND: &str = "host pattern";

/// Which hosts a rule or a grant means.
///
/// - `example.com`: that host only; likewise an IP address in canonical form.
/// - `*.example.com`: exactly one more label.
/// - `**.example.com`: one or more labels.
///
/// A wildcard directly below a public suffix (`*`, `*.com`, `**.github.io`) is refused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPattern {
    depth: Depth,
    base: Host,
}

/// How many labels a host has more than the base.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Depth {
    None,
    One,
    Any,
}

impl HostPattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refuse = |why| NameError::new(KIND, text, why);
        let (depth, base) = match text.split_once('.') {
            Some(("*", base)) => (Depth::One, base),
            Some(("**", base)) => (Depth::Any, base),
            _ if matches!(text, "*" | "**") => {
                return Err(refuse("means every host").help("name the domains that are needed"));
            }
            _ => return Ok(Self::exact(Host::parse_address(text).or_else(|_| Host::parse(text))?)),
        };
        if base.contains('*') {
            return Err(refuse("has a wildcard that is not its first label"));
        }
        let base = Host::parse(base)?;
        if base.is_public_suffix() {
            let help = "anybody can have a name there: name the hosts or domains that are needed";
            return Err(refuse("has a wildcard below a public suffix").help(help));
        }
        Ok(Self { depth, base })
    }

    /// The pattern that means `host` alone.
    #[must_use]
    pub fn exact(host: Host) -> Self {
        Self { depth: Depth::None, base: host }
    }

    /// Is `host` meant?
    #[must_use]
    pub fn matches(&self, host: &Host) -> bool {
        if host.address().is_some() || self.depth == Depth::None {
            return self.depth == Depth::None && self.base == *host;
        }
        below(host.as_str(), self.base.as_str())
            .is_some_and(|labels| self.depth == Depth::Any || !labels.contains('.'))
    }

    /// The one host meant, if the pattern has no wildcard.
    #[must_use]
    pub fn as_host(&self) -> Option<&Host> {
        (self.depth == Depth::None).then_some(&self.base)
    }

    /// Is every host that `other` means meant by this pattern too?
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self.depth, other.depth) {
            (_, Depth::None) => self.matches(&other.base),
            (Depth::None, _) => false,
            (Depth::One, depth) => depth == Depth::One && self.base == other.base,
            (Depth::Any, _) => self.base == other.base || self.matches(&other.base),
        }
    }

    /// The hosts that both patterns mean, which is always one pattern or nothing: of two patterns
    /// that overlap, one covers the other.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        if self.covers(other) {
            Some(other.clone())
        } else {
            other.covers(self).then(|| self.clone())
        }
    }

    /// The hosts that both lists mean: sorted, and no pattern covered by another.
    #[must_use]
    pub fn intersect_lists(left: &[Self], right: &[Self]) -> Vec<Self> {
        let meet = |one| right.iter().filter_map(move |other| Self::intersect(one, other));
        let mut both: Vec<Self> = left.iter().flat_map(meet).collect();
        both.sort();
        both.dedup();
        let all = both.clone();
        both.retain(|one| !all.iter().any(|other| other != one && other.covers(one)));
        both
    }
}

impl From<Host> for HostPattern {
    fn from(host: Host) -> Self {
        Self::exact(host)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.depth {
            Depth::None => "",
            Depth::One => "*.",
            Depth::Any => "**.",
        })?;
        f.write_str(self.base.as_str())
    }
}

impl fmt::Debug for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

as_text!(HostPattern, KIND, HostPattern::parse);
