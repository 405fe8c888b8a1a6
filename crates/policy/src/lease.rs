//! Leases: credentials lent to a run, as far as policy knows them. Names and destinations, never
//! values.
//!
//! Two parties speak about a lease. The person who has the credential says, with `loop lease add`,
//! where its value comes from and the farthest it may go: its [`LeaseTerms`]. A profile, or
//! `--lease`, asks for it by name and may narrow it; it can't send it anywhere else. What results
//! is the [`LeaseGrant`] of one run. It allows the lending, and the requests that the credential is
//! for, because a credential is of no use where the run can't go. Denials hold as ever.

use std::fmt;

use names::{Host, HostPattern, NameError, Port, Span, Timestamp};
use serde::{Deserialize, Serialize};

use crate::action::Http;
use crate::decide;
use crate::pattern::{PathPattern, PatternError};
use crate::rule::{Layer, Method, NetworkGrant, Origin, Target};

/// Longest name of a header, in bytes.
const LONGEST_HEADER: usize = 64;
/// Longest name of a user, in bytes.
const LONGEST_USER: usize = 128;

/// Headers that steer a connection or a message, which no credential belongs in.
const STEERING: &[&str] = &[
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Why a text can't be a part of a lease.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    /// A host, a port or a time.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A path.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A host that means many.
    #[error("`{0}` is not one host; a credential has one destination")]
    ManyHosts(String),
    /// An address, which no TLS name says.
    #[error("`{0}` is an address; a credential goes to a host whose TLS name is verified")]
    Address(String),
    /// A port whose requests anybody on the way can read.
    #[error("port 80 is plain HTTP, where a credential would go out in clear text")]
    ClearText,
    /// A header that isn't one, or that steers messages.
    #[error("`{0}` can't be the header of a credential")]
    Header(String),
    /// A scheme that isn't a word.
    #[error("`{0}` is not a scheme such as Bearer")]
    Scheme(String),
    /// A method that isn't known.
    #[error("`{0}` is not a method that a profile may name")]
    Method(String),
    /// A user name that Basic can't carry.
    #[error("`{0}` can't be the user name of a credential")]
    User(String),
    /// A variable that isn't one.
    #[error("`{0}` is not the name of an environment variable")]
    Variable(String),
    /// A path that doesn't start at the root or holds wildcards.
    #[error("`{0}` is not the beginning of URL paths, such as /v1")]
    Prefix(String),
}

/// The header that carries a credential: `x-api-key: VALUE`, `authorization: Bearer VALUE`, or
/// `authorization: Basic BASE64`, of a user name and the value (RFC 7617).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Spelled", into = "Spelled")]
pub struct Carrier {
    header: String,
    scheme: Option<String>,
    user: Option<String>,
}

/// A carrier as it is written.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spelled {
    header: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scheme: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
}

impl Carrier {
    /// A header, in any case, and the scheme that precedes the value in it. The header
    /// `authorization` has a scheme always; without one it is `Bearer`.
    pub fn new(header: &str, scheme: Option<&str>) -> Result<Self, TermsError> {
        let name = header.to_ascii_lowercase();
        let sound = (1..=LONGEST_HEADER).contains(&name.len()) && name.bytes().all(is_token);
        if !sound || STEERING.contains(&name.as_str()) {
            return Err(TermsError::Header(names::printable(header.as_bytes())));
        }
        let scheme = scheme.or((name == "authorization").then_some("Bearer"));
        match scheme {
            Some(scheme) if scheme.is_empty() || !scheme.bytes().all(is_token) => {
                Err(TermsError::Scheme(names::printable(scheme.as_bytes())))
            }
            scheme => Ok(Self { header: name, scheme: scheme.map(str::to_owned), user: None }),
        }
    }

    /// The value as the password of this user, as Git hosts want it.
    pub fn basic(user: &str) -> Result<Self, TermsError> {
        let plain = |byte: u8| byte.is_ascii_graphic() && byte != b':';
        if !(1..=LONGEST_USER).contains(&user.len()) || !user.bytes().all(plain) {
            return Err(TermsError::User(names::printable(user.as_bytes())));
        }
        let mut carrier = Self::new("authorization", Some("Basic"))?;
        carrier.user = Some(user.to_owned());
        Ok(carrier)
    }

    /// The user whose password the credential is. With one, what follows the scheme is
    /// `USER:VALUE` in base64.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The header's name, in lower case.
    #[must_use]
    pub fn header(&self) -> &str {
        &self.header
    }

    /// What precedes the credential.
    #[must_use]
    pub fn scheme(&self) -> Option<&str> {
        self.scheme.as_deref()
    }

    /// What follows the scheme in a value of the header. `None` if the value is of another scheme.
    #[must_use]
    pub fn credential<'v>(&self, value: &'v str) -> Option<&'v str> {
        let Some(scheme) = &self.scheme else { return Some(value) };
        let (found, credential) = value.split_once(' ')?;
        // Schemes are case-insensitive, RFC 9110 section 11.1.
        found.eq_ignore_ascii_case(scheme).then(|| credential.trim_start_matches(' '))
    }
}

/// `tchar`, RFC 9110 section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl From<Carrier> for Spelled {
    fn from(carrier: Carrier) -> Self {
        Self { header: carrier.header, scheme: carrier.scheme, user: carrier.user }
    }
}

impl TryFrom<Spelled> for Carrier {
    type Error = TermsError;

    fn try_from(spelled: Spelled) -> Result<Self, TermsError> {
        let Some(user) = spelled.user else {
            return Self::new(&spelled.header, spelled.scheme.as_deref());
        };
        let basic = Self::basic(&user)?;
        if spelled.header == basic.header && spelled.scheme == basic.scheme {
            return Ok(basic);
        }
        Err(TermsError::User(names::printable(user.as_bytes())))
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.header)?;
        self.scheme.iter().try_for_each(|scheme| write!(f, ": {scheme}"))?;
        self.user.iter().try_for_each(|user| write!(f, " of {user}"))
    }
}

/// The farthest a credential may go, as the person who has it says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseTerms {
    /// Tells one `loop lease add` from the next of the same name.
    pub id: String,
    /// Where it may go: one host, its ports, the methods and paths there.
    pub target: Target,
    /// The header that carries it.
    pub carrier: Carrier,
    /// The variable that holds the placeholder inside.
    pub variable: Option<String>,
    /// When it ends, whatever a profile says.
    pub until: Option<Timestamp>,
}

/// What `loop lease add` says about a destination, not yet read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Destination<'a> {
    /// The host.
    pub host: &'a str,
    /// The ports; none is 443.
    pub ports: &'a [u16],
    /// What every path starts with one of, on a boundary of segments; none is any path.
    pub path_prefixes: &'a [&'a str],
    /// The methods; none is any.
    pub methods: &'a [String],
}

impl Destination<'_> {
    /// Reads it.
    pub fn target(&self) -> Result<Target, TermsError> {
        let methods: Vec<_> =
            self.methods.iter().map(|text| method(text)).collect::<Result<_, _>>()?;
        let paths: Vec<_> =
            self.path_prefixes.iter().map(|text| prefix(text)).collect::<Result<_, _>>()?;
        Ok(Target {
            host: one_host(self.host)?,
            ports: Some(ports(self.ports)?),
            methods: (!methods.is_empty()).then(|| sorted(methods)),
            paths: (!paths.is_empty()).then_some(paths),
        })
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list.dedup();
    list
}

fn method(text: &str) -> Result<Method, TermsError> {
    Method::of_word(text).ok_or_else(|| TermsError::Method(names::printable(text.as_bytes())))
}

fn ports(numbers: &[u16]) -> Result<Vec<Port>, TermsError> {
    if numbers.is_empty() {
        return Ok(vec![Port::HTTPS]);
    }
    let ports: Vec<_> =
        numbers.iter().map(|port| Port::try_from(*port)).collect::<Result<_, _>>()?;
    if ports.iter().any(|port| is_clear_text(*port)) {
        return Err(TermsError::ClearText);
    }
    Ok(sorted(ports))
}

/// The gate takes nothing but plain HTTP there, and no credential is swapped outside of TLS.
fn is_clear_text(port: Port) -> bool {
    port.number() == 80
}

pub(crate) fn one_host(text: &str) -> Result<HostPattern, TermsError> {
    let pattern = HostPattern::parse(text)?;
    match pattern.as_host() {
        Some(host) if host.address().is_some() => {
            Err(TermsError::Address(names::printable(text.as_bytes())))
        }
        Some(_) => Ok(pattern),
        None => Err(TermsError::ManyHosts(names::printable(text.as_bytes()))),
    }
}

/// `/v1` is `/v1` and everything below it.
pub(crate) fn prefix(text: &str) -> Result<PathPattern, TermsError> {
    let trimmed = text.strip_suffix('/').unwrap_or(text);
    if !text.starts_with('/') || text.contains(['*', '?', '#', '%', ';', '\\']) {
        return Err(TermsError::Prefix(names::printable(text.as_bytes())));
    }
    Ok(PathPattern::parse(&format!("{trimmed}/**"))?)
}

/// Whether a text can be the variable that holds a placeholder.
pub fn variable(text: &str) -> Result<String, TermsError> {
    if crate::raw::is_variable(text) {
        return Ok(text.to_owned());
    }
    Err(TermsError::Variable(names::printable(text.as_bytes())))
}

/// What a profile or a flag says about a lease: its name, and what narrows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Narrowed {
    pub(crate) name: String,
    pub(crate) host: Option<HostPattern>,
    pub(crate) ports: Option<Vec<Port>>,
    pub(crate) methods: Option<Vec<Method>>,
    pub(crate) paths: Option<Vec<PathPattern>>,
    pub(crate) variable: Option<String>,
    pub(crate) lasts: Option<Span>,
    pub(crate) layer: Layer,
    pub(crate) origin: Origin,
}

impl Narrowed {
    /// The lease as its terms say, without narrowing.
    pub(crate) fn whole(name: &str, layer: Layer, origin: Origin) -> Self {
        Self {
            name: name.to_owned(),
            host: None,
            ports: None,
            methods: None,
            paths: None,
            variable: None,
            lasts: None,
            layer,
            origin,
        }
    }

    /// What is left of the terms; `None` if nothing is.
    pub(crate) fn within(&self, terms: &LeaseTerms) -> Option<LeaseGrant> {
        Some(LeaseGrant {
            name: self.name.clone(),
            id: terms.id.clone(),
            target: self.target(&terms.target)?,
            carrier: terms.carrier.clone(),
            variable: self.variable.clone().or_else(|| terms.variable.clone()),
            until: terms.until,
            lasts: self.lasts,
            layer: self.layer,
            origin: self.origin.clone(),
        })
    }

    /// What is left of a lease that was asked for before; `None` if nothing is.
    pub(crate) fn narrowing(&self, held: &LeaseGrant) -> Option<LeaseGrant> {
        Some(LeaseGrant {
            target: self.target(&held.target)?,
            lasts: shorter(self.lasts, held.lasts),
            ..held.clone()
        })
    }

    fn target(&self, bound: &Target) -> Option<Target> {
        let wish = Target {
            host: self.host.clone().unwrap_or_else(|| bound.host.clone()),
            ports: self.ports.clone(),
            methods: self.methods.clone(),
            paths: self.paths.clone(),
        };
        bound.intersect(&wish)
    }
}

/// The shorter of two times, where nothing is no bound.
fn shorter<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}

/// A lease of one run: what it asks for, within the terms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseGrant {
    /// Its name.
    pub name: String,
    /// Of which `loop lease add`.
    pub id: String,
    /// Where the credential may go.
    pub target: Target,
    /// The header that carries it.
    pub carrier: Carrier,
    /// The variable that holds the placeholder inside.
    pub variable: Option<String>,
    /// When it ends.
    pub until: Option<Timestamp>,
    /// How long it lasts at most, from the run's start.
    pub lasts: Option<Span>,
    /// Its layer.
    pub layer: Layer,
    /// Where it was asked for.
    pub origin: Origin,
}

impl LeaseGrant {
    /// Terms are kept in files, some from before this was refused there.
    pub(crate) fn refuse_clear_text(&self) -> Result<(), TermsError> {
        let mut ports = self.target.ports.iter().flatten();
        if ports.any(|port| is_clear_text(*port)) { Err(TermsError::ClearText) } else { Ok(()) }
    }

    /// The host that the credential is for. Every grant that policy made has one.
    #[must_use]
    pub fn host(&self) -> Option<&Host> {
        self.target.host.as_host()
    }

    /// Whether the credential is for this request. A path that a server may read in more than one
    /// way is not one it is for, nor is TRACE, whose answer is the request (RFC 9110 section 9.3.8).
    #[must_use]
    pub fn covers(&self, http: &Http) -> bool {
        http.method != Method::Trace.word() && decide::carries(&self.target, http)
    }

    /// The destination, which the lease makes reachable. Caps that every one of `listed` has for
    /// the host stay caps.
    pub(crate) fn network(&self, listed: &[NetworkGrant]) -> NetworkGrant {
        let host = self.host();
        let about =
            |grant: &&NetworkGrant| host.is_some_and(|host| grant.target.host.matches(host));
        let caps: Option<Vec<_>> =
            listed.iter().filter(about).map(|grant| grant.max_bytes).collect();
        NetworkGrant {
            target: self.target.clone(),
            max_bytes: caps.and_then(|caps| caps.into_iter().max()),
            addresses: Vec::new(),
            dial: None,
            ca_file: None,
            layer: self.layer,
            origin: self.origin.clone(),
        }
    }
}

/// In a line: `anthropic api.anthropic.com:443 /v1/** in x-api-key as ANTHROPIC_API_KEY`.
impl fmt::Display for LeaseGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in {}", self.name, self.target, self.carrier)?;
        self.variable.iter().try_for_each(|name| write!(f, " as {name}"))?;
        self.until.iter().try_for_each(|until| write!(f, " until {until}"))?;
        self.lasts.iter().try_for_each(|span| write!(f, " for {span}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriers() {
        let key = Carrier::new("X-Api-Key", None).unwrap();
        assert_eq!((key.header(), key.scheme()), ("x-api-key", None));
        assert_eq!(key.credential("abc"), Some("abc"));
        let bearer = Carrier::new("Authorization", None).unwrap();
        assert_eq!(bearer.to_string(), "authorization: Bearer");
        assert_eq!(bearer.credential("bearer  abc"), Some("abc"));
        for other in ["Basic abc", "abc", "Bearerabc", ""] {
            assert_eq!(bearer.credential(other), None, "{other}");
        }
        for bad in ["", "a b", "host", "Transfer-Encoding", "a:b", "ä"] {
            assert!(Carrier::new(bad, None).is_err(), "{bad}");
        }
        assert!(Carrier::new("x", Some("a b")).is_err());
        let basic = Carrier::basic("x-access-token").unwrap();
        assert_eq!(basic.to_string(), "authorization: Basic of x-access-token");
        for bad in ["", "a:b", "a b", "ä"] {
            assert!(Carrier::basic(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn destinations() {
        let place =
            Destination { host: "api.example.com", path_prefixes: &["/v1/"], ..Default::default() };
        assert_eq!(place.target().unwrap().to_string(), "api.example.com:443 /v1/**");
        for bad in ["*.example.com", "co.uk", "https://a.example.com", "203.0.113.7"] {
            assert!(Destination { host: bad, ..place }.target().is_err(), "{bad}");
        }
        for bad in ["v1", "/v1/*", "/a%2fb", "/a/../b"] {
            assert!(Destination { path_prefixes: &[bad], ..place }.target().is_err(), "{bad}");
        }
        assert!(Destination { ports: &[0], ..place }.target().is_err());
        assert!(Destination { methods: &["get".to_owned()], ..place }.target().is_err());
    }
}
