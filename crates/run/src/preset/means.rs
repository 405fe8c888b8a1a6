//! What an agent is lent: for each provider that it can use, a lease that the person keeps, or one
//! made for this run of a variable of this process.

use std::path::Path;

use api::{Problem, exit};
use names::{Host, Port};
use policy::{Destination, LeaseTerms, Target, TermsError};

use super::home::Word;
use super::{Key, METHODS, Preset, Provider};
use crate::lease::{self, Lending, Stored};
use crate::login;
use crate::problem::unsafe_because;
use crate::settings::Settings;

/// How much of the end of a key Claude Code remembers of those that the person said yes to.
const END: usize = 20;

/// What one run of an agent is lent.
#[derive(Debug)]
pub(super) struct Means {
    /// One a provider, never none.
    lent: Vec<Lent>,
}

#[derive(Debug)]
struct Lent {
    provider: &'static Provider,
    /// What the agent reads inside.
    variable: &'static str,
    base: Base,
    /// The lease, unless the person keeps it.
    made: Option<Stored>,
}

impl Means {
    pub(super) fn find(settings: &Settings, preset: &'static Preset) -> Result<Self, Problem> {
        let lent =
            preset.providers.iter().filter_map(|provider| lent(settings, provider).transpose());
        let lent: Vec<_> = lent.collect::<Result<_, _>>()?;
        if lent.is_empty() {
            return Err(nothing(settings, preset));
        }
        Ok(Self { lent })
    }

    /// The names of the leases.
    pub(super) fn leases(&self) -> impl Iterator<Item = String> {
        self.lent.iter().map(|lent| lent.provider.lease.to_owned())
    }

    /// The leases that nobody keeps.
    pub(super) fn made(&self) -> Vec<Stored> {
        self.lent.iter().filter_map(|lent| lent.made.clone()).collect()
    }

    /// Where the providers are that are somewhere else.
    pub(super) fn environment(&self) -> impl Iterator<Item = (String, String)> {
        let elsewhere = self.lent.iter().filter(|lent| lent.base.text != lent.provider.base);
        elsewhere.map(|lent| (lent.provider.base_variable.to_owned(), lent.base.text.clone()))
    }

    /// What the files of a home may say of the run. Where a file speaks of a provider, its agent
    /// has only one.
    pub(super) fn words(&self, project: &Path, lending: &Lending) -> Vec<Word> {
        let mut words = vec![("PROJECT", project.to_string_lossy().into_owned())];
        if let Some(lent) = self.lent.first() {
            words.push(("BASE", lent.base.text.clone()));
            words.push(("VARIABLE", lent.variable.to_owned()));
            let placeholder = lending.leases.iter().find(|it| it.name() == lent.provider.lease);
            let end = placeholder.map(|it| end(it.placeholder()));
            words.extend(end.map(|end| ("KEY_END", end)));
        }
        words
    }
}

/// Its last characters; a placeholder is ASCII.
fn end(placeholder: &str) -> String {
    let skipped = placeholder.len().saturating_sub(END);
    placeholder.chars().skip(skipped).collect()
}

/// What of this provider can be lent, if anything.
fn lent(settings: &Settings, provider: &'static Provider) -> Result<Option<Lent>, Problem> {
    let kept = lease::terms(settings, provider.lease)?;
    let key = match &kept {
        Some(terms) => Some(key_of(provider, terms)?),
        None => {
            let set = provider.keys.iter().find(|key| is_set(settings, key));
            set.or_else(|| provider.keys.iter().find(|key| login_for(settings, key).is_some()))
        }
    };
    let Some(key) = key else { return Ok(None) };
    let base = Base::of(settings, provider)?;
    let made = match kept {
        Some(terms) => {
            base.refuse_other(provider, &terms)?;
            None
        }
        None => Some(made(settings, provider, key, &base)?),
    };
    Ok(Some(Lent { provider, variable: key.variable, base, made }))
}

fn is_set(settings: &Settings, key: &Key) -> bool {
    settings.said(key.variable).is_some()
}

/// The provider whose key `loop login` keeps, unless the variable goes before it.
fn login_for(settings: &Settings, key: &Key) -> Option<&'static str> {
    if is_set(settings, key) { None } else { login::kept_for(settings, key.variable) }
}

/// The key that a kept lease stands in the place of.
fn key_of(provider: &'static Provider, terms: &LeaseTerms) -> Result<&'static Key, Problem> {
    let same = |key: &&Key| {
        terms.variable.as_deref() == Some(key.variable)
            && key.carrier().is_ok_and(|carrier| carrier == terms.carrier)
    };
    provider.keys.iter().find(same).ok_or_else(|| {
        let name = provider.lease;
        let what = format!("the lease {name} is not one that this agent can use");
        let next = format!("loop lease revoke {name}, then {}", add(provider));
        Problem::new(exit::UNSAFE, what).with_next(next)
    })
}

/// The command that keeps a lease for this provider.
fn add(provider: &Provider) -> String {
    let host = Base::parse(provider.base).map(|base| base.host).unwrap_or_default();
    // The first of them is for gateways, where there are several.
    let key = provider.keys.iter().find(|key| key.variable.ends_with("_API_KEY"));
    let (header, variable) = key.map(|key| (key.header, key.variable)).unwrap_or_default();
    format!(
        "loop lease add {} --host {host} --header {header} --env {variable} --from file:PATH",
        provider.lease
    )
}

fn made(
    settings: &Settings,
    provider: &Provider,
    key: &Key,
    base: &Base,
) -> Result<Stored, Problem> {
    let target = base.target(provider).map_err(|error| base.wrong(provider, &error.to_string()))?;
    let carrier = key.carrier().map_err(unsafe_because)?;
    let login = login_for(settings, key);
    lease::of_key(settings, provider.lease, key.variable, login, target, carrier)
}

/// That an agent has no credential, and what would help.
fn nothing(settings: &Settings, preset: &Preset) -> Problem {
    let variables = preset.providers.iter().flat_map(|provider| provider.keys);
    let variables: Vec<_> = variables.map(|key| key.variable).collect();
    let leases: Vec<_> = preset.providers.iter().map(|provider| provider.lease).collect();
    let what = format!(
        "{} has no key: there is no lease {}, and none of these is set: {}",
        preset.name,
        leases.join(" or "),
        variables.join(", ")
    );
    let login = preset.login.as_ref();
    let login = login.filter(|login| settings.homes.home.join(login.file).is_file());
    let login = login
        .map(|login| format!("your login in ~/{} can't be lent; {}; ", login.file, login.instead));
    let adds: Vec<_> = preset.providers.iter().map(add).collect();
    let stored: Vec<_> = leases.iter().map(|name| format!("loop login {name}")).collect();
    let ways = [stored, adds].concat().join(", or ");
    let next = format!("{}set one of them, or {ways}", login.unwrap_or_default());
    Problem::new(exit::UNSAFE, what).with_next(next)
}

/// Where a provider is: `https://HOST[:PORT][/PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Base {
    text: String,
    host: String,
    port: u16,
    /// Without a slash at its end.
    path: String,
}

impl Base {
    fn of(settings: &Settings, provider: &Provider) -> Result<Self, Problem> {
        let said = settings.said(provider.base_variable);
        let said = said.map(|value| value.to_string_lossy().into_owned());
        let text = said.as_deref().unwrap_or(provider.base);
        Self::parse(text).ok_or_else(|| {
            let shown = names::printable(text.as_bytes());
            unsafe_because(format!("{} is {shown}", provider.base_variable)).with_next(
                "a key is lent to https://HOST[:PORT][/PATH] and nowhere else; set it to such a place",
            )
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("https://")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (authority, Port::HTTPS.number()),
        };
        let host = Host::parse(host).ok()?.to_string();
        let path = path.trim_end_matches('/').to_owned();
        Some(Self { text: text.to_owned(), host, port, path })
    }

    /// What an agent needs of the provider here.
    fn target(&self, provider: &Provider) -> Result<Target, TermsError> {
        let paths = provider.paths.iter().map(|path| format!("{}{path}", self.path));
        let paths: Vec<_> = paths.collect();
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        Destination {
            host: &self.host,
            ports: &[self.port],
            path_prefixes: &paths,
            methods: &METHODS.map(str::to_owned),
        }
        .target()
    }

    fn wrong(&self, provider: &Provider, why: &str) -> Problem {
        let place = names::printable(self.text.as_bytes());
        unsafe_because(format!("{} is {place}: {why}", provider.base_variable))
    }

    /// A kept lease goes where the person said, so the provider has to be there.
    fn refuse_other(&self, provider: &Provider, terms: &LeaseTerms) -> Result<(), Problem> {
        let host = terms.target.host.as_host().map(Host::to_string);
        let port = |ports: &Vec<Port>| ports.iter().any(|port| port.number() == self.port);
        if host.as_deref() == Some(&self.host) && terms.target.ports.as_ref().is_none_or(port) {
            return Ok(());
        }
        let why = format!("the lease {} is for {}", provider.lease, terms.target);
        let next = format!(
            "unset {}, or make the lease for that host: loop lease revoke {}, then loop lease add",
            provider.base_variable, provider.lease
        );
        Err(self.wrong(provider, &why).with_next(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_one_https_host() {
        let base = |text| Base::parse(text).map(|base| (base.host, base.port, base.path));
        let of = |host: &str, port, path: &str| Some((host.to_owned(), port, path.to_owned()));
        assert_eq!(base("https://api.openai.com/v1"), of("api.openai.com", 443, "/v1"));
        assert_eq!(base("https://Gate.example.com:8443/"), of("gate.example.com", 8443, ""));
        for bad in [
            "http://api.openai.com",
            "https://",
            "https://user:secret@gate.example.com",
            "https://gate.example.com:x/",
            "https://gate.example.com?key=1",
            "gate.example.com",
            "",
        ] {
            assert_eq!(base(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_end_is_the_last_twenty() {
        assert_eq!(end("loop-lease-anthropic-0123456789abcdef"), "pic-0123456789abcdef");
        assert_eq!(end("short"), "short");
    }
}
