//! A destination's name.

use std::fmt;
use std::net::IpAddr;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use psl::Type;

use crate::NameError;
use crate::suffix::{Divided, divide};
use crate::text::as_text;

const KIND: &str = "host";

/// Everything ASCII that is not a letter, a digit, '-', '.' or '_'.
const REFUSED: AsciiDenyList = AsciiDenyList::new(true, "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~");

/// Names that never mean a public destination, with everything below them (RFC 6761, RFC 6762,
/// RFC 7686, RFC 8375, RFC 9476, ICANN's reservation of `internal`, and what resolvers add).
const SPECIAL: &[&str] = &[
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "lan",
    "home.arpa",
    "in-addr.arpa",
    "ip6.arpa",
    "invalid",
    "onion",
    "alt",
];

/// A public DNS name in canonical form: lower-case ASCII, IDN as `xn--…`, no trailing dot.
///
/// An IP address is a `Host` only where it was made one on purpose, by [`Host::from_address`] or
/// [`Host::parse_address`]: a request that names an address does not become a host by accident.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    text: String,
    address: Option<IpAddr>,
}

impl Host {
    /// Reads a name. Case, IDN and full-width forms and one trailing dot are brought into the
    /// canonical form; everything that is more or less than a name is refused, as are IP literals
    /// in any notation, single labels, names of local use and the public suffixes of registries.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if let Some((why, help)) = not_just_a_name(text) {
            return Err(refusal(text, why).help(help));
        }
        let text = canonical_form(text).map_err(|why| refusal(text, why))?;
        match reserved(&text) {
            Some(why) => Err(refusal(&text, why)),
            None => Ok(Self { text, address: None }),
        }
    }

    /// Takes an address as a host, because somebody named that very address.
    #[must_use]
    pub fn from_address(address: IpAddr) -> Self {
        Self { text: address.to_string(), address: Some(address) }
    }

    /// Reads an address in its canonical text: `203.0.113.7`, `2001:db8::7`. No brackets, no zone,
    /// no other notation of the same address.
    pub fn parse_address(text: &str) -> Result<Self, NameError> {
        let address: Option<IpAddr> = text.parse().ok();
        match address.map(Self::from_address) {
            Some(host) if host.text == text => Ok(host),
            _ => Err(NameError::new("address", text, "is not an IP address in canonical form")),
        }
    }

    fn parse_either(text: &str) -> Result<Self, NameError> {
        Self::parse_address(text).or_else(|_| Self::parse(text))
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The address, if this host is one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Is this name a public suffix, under which anybody can register or host?
    pub(crate) fn is_public_suffix(&self) -> bool {
        let divided = divide(&self.text);
        self.address.is_none() && divided.domain.is_none() && divided.suffix.is_some()
    }
}

fn refusal(text: &str, why: &'static str) -> NameError {
    match text.rsplit_once('@') {
        // What precedes an '@' may be a password.
        Some((_, host)) => NameError::new(KIND, format!("…@{host}"), why),
        None => NameError::new(KIND, text, why),
    }
}

/// The commonest ways to write more than a name, each told apart so that the help can be exact.
fn not_just_a_name(text: &str) -> Option<(&'static str, &'static str)> {
    let has = |set: &[char]| text.contains(set);
    let found = if text.is_empty() {
        ("is empty", "write a name such as example.com")
    } else if text.contains("://") {
        ("has a scheme", "write the name alone, without http:// or https://")
    } else if has(&['@']) {
        ("has user information", "write the name alone, without user and password")
    } else if has(&['/', '\\']) {
        ("has a path", "write the name alone, without a path")
    } else if has(&['?', '#']) {
        ("has a query or a fragment", "write the name alone")
    } else if has(&['[', ']']) || text.matches(':').count() > 1 {
        ("is an IP literal", "name a host; an address must be named by the profile itself")
    } else if has(&[':']) {
        ("has a port", "write the port in its own key")
    } else if has(&['*']) {
        ("has a wildcard", "a wildcard is only allowed as the first label of a pattern")
    } else if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        ("has white space or a control character", "write the name alone")
    } else {
        return None;
    };
    Some(found)
}

/// UTS 46, non-transitional, with the length limits of DNS.
fn canonical_form(text: &str) -> Result<String, &'static str> {
    let name = Uts46::new()
        .to_ascii(text.as_bytes(), REFUSED, Hyphens::CheckFirstLast, DnsLength::Ignore)
        .map_err(|_| "has a character or a hyphen that a host name can't have there")?;
    let name = name.strip_suffix('.').unwrap_or(&name);
    if name.split('.').any(str::is_empty) {
        return Err("has an empty label");
    }
    if name.split('.').any(|label| label.len() > 63) {
        return Err("has a label of more than 63 characters");
    }
    if name.len() > 253 {
        return Err("has more than 253 characters");
    }
    Ok(name.to_owned())
}

/// Why a well-formed name still isn't a public destination.
fn reserved(name: &str) -> Option<&'static str> {
    let last = name.rsplit('.').next().unwrap_or(name);
    if is_number(last) {
        return Some("is a number or an IP literal");
    }
    if SPECIAL.iter().any(|special| is_at_or_below(name, special)) {
        return Some("is a name of local or special use");
    }
    if !name.contains('.') {
        return Some("is a single label");
    }
    match divide(name) {
        // A suffix of a registry (`co.uk`), not of a hosting service (`github.io`), whose own
        // name is an ordinary destination.
        Divided { domain: None, suffix: Some(Type::Icann) } => Some("is a public suffix"),
        Divided { domain, .. } => domain
            .unwrap_or(name)
            .contains('_')
            .then_some("has an underscore in its registrable part"),
    }
}

/// A last label that makes address parsers take the whole for an IPv4 address, as in the URL
/// standard ("ends in a number"): all digits, or `0x` and hexadecimal digits.
fn is_number(label: &str) -> bool {
    let digits = |text: &str, digit: fn(&u8) -> bool| text.as_bytes().iter().all(digit);
    match label.strip_prefix("0x") {
        Some(hex) => digits(hex, u8::is_ascii_hexdigit),
        None => digits(label, u8::is_ascii_digit),
    }
}

/// Is `name` the name `parent` or a name below it?
fn is_at_or_below(name: &str, parent: &str) -> bool {
    name == parent || below(name, parent).is_some()
}

/// The labels that `name` has more than `parent`, if it is below it: `a.b` for `a.b.example.com`.
pub(crate) fn below<'a>(name: &'a str, parent: &str) -> Option<&'a str> {
    name.strip_suffix(parent)?.strip_suffix('.').filter(|labels| !labels.is_empty())
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AsRef<str> for Host {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

// `FromStr` and serialised forms read back what was written, addresses included; a request's
// text goes to `Host::parse`.
as_text!(Host, KIND, Host::parse_either);
