//! Rules and grants as data: what they match, what they say, where they were written.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use names::{ByteSize, HostPattern, Port};
use serde::{Deserialize, Serialize};

use crate::action::{Access, FileAccess, Kind, RefChange, word_enum};
use crate::path_text;
use crate::pattern::{ArgsPattern, PathPattern, ProgramPattern, WordPattern};

/// What is decided about an action. The order is the order of strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It may happen.
    Allow,
    /// A person is asked.
    Ask,
    /// It does not happen.
    Deny,
}

word_enum!(Outcome: "allow" => Allow, "ask" => Ask, "deny" => Deny);

/// The layers of an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Compiled in; nothing lifts it.
    Pinned,
    /// The owner's configuration.
    Owner,
    /// The chosen profile and those it extends.
    Named,
    /// The project's configuration, once trusted.
    Project,
    /// The flags of this run.
    Flags,
}

word_enum!(
    Layer: "pinned" => Pinned, "owner" => Owner, "named" => Named, "project" => Project,
    "flags" => Flags,
);

/// Where something was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The file, or the name of a text compiled in.
    pub source: String,
    /// The line, from 1; 0 for the command line.
    pub line: u32,
    /// The key: `limits.memory`, `rule`.
    pub key: String,
}

impl Origin {
    /// A flag of the command line.
    #[must_use]
    pub fn flag(flag: &str) -> Self {
        Self { source: "command line".to_owned(), line: 0, key: flag.to_owned() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if self.line > 0 { write!(f, ":{}", self.line) } else { Ok(()) }
    }
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, unique in its file.
    pub id: String,
    /// Its layer.
    pub layer: Layer,
    /// Where it was written.
    pub origin: Origin,
    /// What it says.
    pub verdict: Outcome,
    /// Why, in its author's words.
    pub reason: Option<String>,
    /// What it is about.
    pub when: Match,
}

/// The actions that a rule is about. An absent part matches everything.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Match {
    /// Starting a program.
    Exec {
        /// The program.
        program: ProgramPattern,
        /// The arguments.
        args: Option<ArgsPattern>,
        /// The working directory.
        cwd: Option<PathPattern>,
    },
    /// Opening a file.
    Open {
        /// The file.
        path: PathPattern,
        /// What for.
        access: Option<FileAccess>,
    },
    /// Making a path visible.
    Mount {
        /// The path; a mount above its literal start is meant too, because it would expose it.
        path: PathPattern,
        /// What the mount gives.
        access: Option<Access>,
    },
    /// Opening a connection.
    Connect(Target),
    /// Looking up a name.
    Resolve(Target),
    /// Sending an HTTP request.
    Http(Target),
    /// Changing a reference of a remote.
    GitPush {
        /// The remote's host.
        host: Option<HostPattern>,
        /// The repository there.
        repository: Option<WordPattern>,
        /// The references.
        refs: Option<Vec<WordPattern>>,
        /// What happens to them.
        changes: Option<Vec<RefChange>>,
    },
    /// An operation of the Docker API.
    Docker {
        /// The operation.
        operation: Option<WordPattern>,
        /// The image or container.
        target: Option<WordPattern>,
    },
    /// Lending a credential.
    Lease {
        /// The lease's name.
        name: Option<WordPattern>,
        /// The host.
        host: Option<HostPattern>,
        /// The ports.
        ports: Option<Vec<Port>>,
    },
    /// Connecting to a published port of the sandbox.
    Publish {
        /// The ports inside.
        ports: Option<Vec<Port>>,
    },
    /// A tool of Loop's own agent.
    Tool {
        /// Its name.
        name: Option<WordPattern>,
    },
    /// Applying a change set.
    Apply {
        /// Whether flagged entries are among those applied.
        flagged: Option<bool>,
    },
    /// Discarding a change set.
    Discard,
    /// Undoing an apply.
    Undo,
    /// Putting a run's commits on a branch.
    Branch {
        /// Whether flagged paths are among those that they change.
        flagged: Option<bool>,
    },
}

impl Match {
    /// The kind of action it is about.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Exec { .. } => Kind::Exec,
            Self::Open { .. } => Kind::Open,
            Self::Mount { .. } => Kind::Mount,
            Self::Connect(_) => Kind::Connect,
            Self::Resolve(_) => Kind::Resolve,
            Self::Http(_) => Kind::Http,
            Self::GitPush { .. } => Kind::GitPush,
            Self::Docker { .. } => Kind::Docker,
            Self::Lease { .. } => Kind::Lease,
            Self::Publish { .. } => Kind::Publish,
            Self::Tool { .. } => Kind::Tool,
            Self::Apply { .. } => Kind::Apply,
            Self::Discard => Kind::Discard,
            Self::Undo => Kind::Undo,
            Self::Branch { .. } => Kind::Branch,
        }
    }
}

/// In a line: `cargo publish **`, `example.com:443`.
impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = match self {
            Self::Exec { program, args, cwd } => vec![
                Some(program.to_string()),
                args.as_ref().map(ToString::to_string),
                cwd.as_ref().map(|cwd| format!("in {cwd}")),
            ],
            Self::Open { path, access } => vec![Some(path.to_string()), show(access)],
            Self::Mount { path, access } => vec![Some(path.to_string()), show(access)],
            Self::Connect(target) | Self::Resolve(target) | Self::Http(target) => {
                vec![Some(target.to_string())]
            }
            Self::GitPush { host, repository, refs, changes } => {
                vec![show(host), show(repository), list(refs), list(changes)]
            }
            Self::Docker { operation, target } => vec![show(operation), show(target)],
            Self::Lease { name, host, ports } => vec![show(name), show(host), list(ports)],
            Self::Publish { ports } => vec![list(ports)],
            Self::Tool { name } => vec![show(name)],
            Self::Apply { flagged } | Self::Branch { flagged } => vec![flagged.map(|flagged| {
                if flagged { "with flagged paths" } else { "without flagged paths" }.to_owned()
            })],
            Self::Discard | Self::Undo => vec![],
        };
        let parts: Vec<String> = parts.into_iter().flatten().filter(|p| !p.is_empty()).collect();
        f.write_str(if parts.is_empty() { "any" } else { "" })?;
        f.write_str(&parts.join(" "))
    }
}

fn show(part: &Option<impl fmt::Display>) -> Option<String> {
    part.as_ref().map(ToString::to_string)
}

fn list(parts: &Option<Vec<impl fmt::Display>>) -> Option<String> {
    let parts = parts.as_ref()?;
    Some(parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
}

/// An HTTP method that a profile may name: those that send a request to the destination itself, so
/// not CONNECT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// RFC 9110.
    Get,
    /// RFC 9110.
    Head,
    /// RFC 9110.
    Post,
    /// RFC 9110.
    Put,
    /// RFC 5789.
    Patch,
    /// RFC 9110.
    Delete,
    /// RFC 9110.
    Options,
    /// RFC 9110.
    Trace,
    /// RFC 4918.
    Propfind,
    /// RFC 4918.
    Proppatch,
    /// RFC 4918.
    Mkcol,
    /// RFC 4918.
    Copy,
    /// RFC 4918.
    Move,
    /// RFC 4918.
    Lock,
    /// RFC 4918.
    Unlock,
    /// RFC 3253.
    Report,
    /// RFC 5323.
    Search,
}

word_enum!(
    Method: "GET" => Get, "HEAD" => Head, "POST" => Post, "PUT" => Put, "PATCH" => Patch, "DELETE" => Delete, "OPTIONS" => Options, "TRACE" => Trace, "PROPFIND" => Propfind, "PROPPATCH" => Proppatch, "MKCOL" => Mkcol, "COPY" => Copy, "MOVE" => Move, "LOCK" => Lock, "UNLOCK" => Unlock, "REPORT" => Report, "SEARCH" => Search,
);

/// A set of destinations. An absent list is all, an empty one none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The hosts.
    pub host: HostPattern,
    /// The ports, sorted.
    pub ports: Option<Vec<Port>>,
    /// The HTTP methods, sorted.
    pub methods: Option<Vec<Method>>,
    /// The URL paths, sorted.
    pub paths: Option<Vec<PathPattern>>,
}

impl Target {
    /// Whether there is no such destination at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ports.as_ref().is_some_and(Vec::is_empty)
            || self.methods.as_ref().is_some_and(Vec::is_empty)
            || self.paths.as_ref().is_some_and(Vec::is_empty)
    }

    /// The destinations of both. Of two overlapping path patterns that don't cover each other
    /// nothing is left, which is less than they share, never more.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let equal_methods = |one: &Method, other: &Method| one == other;
        let both = Self {
            host: self.host.intersect(&other.host)?,
            ports: meet(&self.ports, &other.ports, |one, other| one == other),
            methods: meet(&self.methods, &other.methods, equal_methods),
            paths: meet(&self.paths, &other.paths, PathPattern::covers),
        };
        (!both.is_empty()).then_some(both)
    }

    /// Whether every destination of `other` is one of these; it may say no to a pair for which it
    /// holds, never yes to one for which it doesn't.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.is_empty()
            || (self.host.covers(&other.host)
                && contains(&self.ports, &other.ports, |one, other| one == other)
                && contains(&self.methods, &other.methods, |one, other| one == other)
                && contains(&self.paths, &other.paths, PathPattern::covers))
    }
}

/// What two lists share, where an absent list is all.
fn meet<T: Clone + Ord>(
    left: &Option<Vec<T>>,
    right: &Option<Vec<T>>,
    covers: fn(&T, &T) -> bool,
) -> Option<Vec<T>> {
    let (Some(left), Some(right)) = (left, right) else { return left.clone().or(right.clone()) };
    let inside = |items: &[T], bounds: &[T]| -> Vec<T> {
        items
            .iter()
            .filter(|item| bounds.iter().any(|bound| covers(bound, item)))
            .cloned()
            .collect()
    };
    let mut both = inside(left, right);
    both.extend(inside(right, left));
    both.sort();
    both.dedup();
    Some(both)
}

fn contains<T>(
    wide: &Option<Vec<T>>,
    narrow: &Option<Vec<T>>,
    covers: impl Fn(&T, &T) -> bool,
) -> bool {
    match (wide, narrow) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => {
            narrow.iter().all(|item| wide.iter().any(|bound| covers(bound, item)))
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.host)?;
        if let Some(ports) = list(&self.ports) {
            write!(f, ":{}", if ports.is_empty() { "none" } else { &ports })?;
        }
        for part in [list(&self.methods), list(&self.paths)].into_iter().flatten() {
            write!(f, " {}", if part.is_empty() { "none" } else { &part })?;
        }
        Ok(())
    }
}

/// An address, or a range of addresses in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressRange {
    first: IpAddr,
    prefix: u8,
}

impl AddressRange {
    /// Reads `10.1.2.3` or `10.1.0.0/16`; `None` if it is neither, or has bits beyond its prefix.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (first, prefix) = match text.split_once('/') {
            Some((first, prefix)) => (first.parse().ok()?, Some(prefix.parse().ok()?)),
            None => (text.parse().ok()?, None),
        };
        let range = Self { first, prefix: prefix.unwrap_or(width(first)) };
        let canonical = range.prefix <= width(first) && range.mask(first) == bits(first);
        canonical.then_some(range)
    }

    /// Whether `address` is in the range.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        width(address) == width(self.first) && self.mask(address) == bits(self.first)
    }

    fn mask(&self, address: IpAddr) -> u128 {
        let free = u32::from(width(address).saturating_sub(self.prefix));
        bits(address) & u128::MAX.checked_shl(free).unwrap_or(0)
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl TryFrom<String> for AddressRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| "not an address or a range".to_owned())
    }
}

impl From<AddressRange> for String {
    fn from(range: AddressRange) -> Self {
        range.to_string()
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// A destination that the run can reach.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkGrant {
    /// The destinations.
    pub target: Target,
    /// Most bytes of one run, both ways together.
    pub max_bytes: Option<ByteSize>,
    /// Addresses that the name may have though they are not public.
    pub addresses: Vec<AddressRange>,
    /// Where to connect instead of looking the name up.
    pub dial: Option<SocketAddr>,
    /// Certificates that vouch for the host besides the system's.
    #[serde(with = "path_text::maybe")]
    pub ca_file: Option<PathBuf>,
    /// Its layer.
    pub layer: Layer,
    /// Where it was written.
    pub origin: Origin,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let range = |text: &str| AddressRange::parse(text);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let ten = range("10.1.0.0/16").unwrap();
        assert!(ten.contains(address("10.1.255.255")));
        assert!(!ten.contains(address("10.2.0.0")));
        assert!(!ten.contains(address("::a01:0")));
        assert!(range("0.0.0.0/0").unwrap().contains(address("1.2.3.4")));
        assert!(range("::/0").unwrap().contains(address("2001:db8::1")));
        assert!(range("10.0.0.1").unwrap().contains(address("10.0.0.1")));
        for bad in ["10.1.0.0/33", "10.1.2.3/16", "::1/129", "10", "10.0.0.0/-1", ""] {
            assert_eq!(range(bad), None, "{bad}");
        }
    }

    fn target(host: &str, ports: Option<&[u16]>) -> Target {
        let ports = ports.map(|ports| ports.iter().map(|p| Port::try_from(*p).unwrap()).collect());
        Target { host: HostPattern::parse(host).unwrap(), ports, methods: None, paths: None }
    }

    #[test]
    fn targets_intersect_by_meaning() {
        let wide = target("*.example.com", Some(&[80, 443]));
        let both = wide.intersect(&target("a.example.com", Some(&[443, 8443])));
        assert_eq!(both, Some(target("a.example.com", Some(&[443]))));
        assert_eq!(wide.intersect(&target("example.com", None)), None);
        assert_eq!(wide.intersect(&target("a.example.com", Some(&[22]))), None);
        assert!(target("**.example.com", None).covers(&wide));
        assert!(!wide.covers(&target("*.example.com", None)));
    }
}
