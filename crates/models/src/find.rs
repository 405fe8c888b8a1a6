//! From what a person writes, and the keys that there are, to a model.

use std::io;
use std::path::Path;

use names::Secret;

use crate::anthropic::Anthropic;
use crate::base::{Base, BaseError};
use crate::chat::Chat;
use crate::client::Client;
use crate::known::{Known, listed, provider_of};
use crate::openai::OpenAi;
use crate::proxy::{Proxy, ProxyError};
use crate::retry::Pace;
use crate::script::{Script, ScriptError};
use crate::scripted::{self, Scripted};
use crate::transport::{Timeouts, Transport};
use crate::wire::Wire;
use crate::{Abilities, Model, ModelId};

/// Looks a variable up, in the environment or wherever keys are kept. Names are those of the
/// environment: `ANTHROPIC_API_KEY`, `HTTPS_PROXY`.
pub type Lookup<'l> = &'l dyn Fn(&str) -> Option<Secret<String>>;

/// Why there is no such model.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Nothing was asked for, and there is no key to go by.
    #[error("no model was named, and there is no key of a provider")]
    NoModel,
    /// The provider wants a key.
    #[error("{provider} wants a key, and {variable} is not set")]
    NoKey {
        /// Whose.
        provider: String,
        /// Where it would be.
        variable: &'static str,
    },
    /// Not of a form that names a model.
    #[error("\"{0}\" names no model")]
    Unknown(String),
    /// The address of the provider.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The proxy.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// A key would go out for everybody to read.
    #[error("a key would be sent to {0} unencrypted")]
    KeyInTheOpen(String),
    /// The script can't be read.
    #[error("{file}: {error}")]
    Unreadable {
        /// Which.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// The script is not in order.
    #[error("{file}: {error}")]
    Script {
        /// Which.
        file: String,
        /// What is wrong with it.
        error: ScriptError,
    },
    /// This machine.
    #[error("no encrypted connections on this machine: {0}")]
    Transport(#[from] io::Error),
}

impl FindError {
    /// What would help.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NoModel => format!(
                "set {}, or name a model: {FORMS}; `loop models` lists what is usable",
                KEYED.map(|provider| provider.key).join(" or ")
            ),
            Self::NoKey { provider, variable } => {
                format!("set {variable}, or store a key with `loop login {provider}`")
            }
            Self::Unknown(_) => {
                format!("write one of: {FORMS}; `loop models` lists what is usable")
            }
            Self::Base(BaseError::Form(_)) => "write it as https://HOST:PORT/PATH".to_owned(),
            Self::Base(BaseError::Plain(_)) => {
                "use https, or name the server: openai-compatible:URL#NAME".to_owned()
            }
            Self::Proxy(_) => "set HTTPS_PROXY to http://HOST:PORT, or unset it".to_owned(),
            Self::KeyInTheOpen(_) => "use https, or unset the key".to_owned(),
            Self::Unreadable { .. } => "name a file that can be read".to_owned(),
            Self::Script { .. } => "mend the script".to_owned(),
            Self::Transport(_) => "install the system's certificates (ca-certificates)".to_owned(),
        }
    }
}

const FORMS: &str = "anthropic:NAME, openai:NAME, ollama:NAME, openai-compatible:URL#NAME, \
                     scripted:FILE";

/// A provider with a key and a fixed address.
struct Keyed {
    name: &'static str,
    key: &'static str,
    base_variable: &'static str,
    base: &'static str,
    wire: fn(&str, Known) -> Box<dyn Wire>,
}

/// In the order in which a default is looked for.
const KEYED: [Keyed; 2] = [
    Keyed {
        name: "anthropic",
        key: "ANTHROPIC_API_KEY",
        base_variable: "ANTHROPIC_BASE_URL",
        base: "https://api.anthropic.com",
        wire: |model, known| Box::new(Anthropic::new(model, known)),
    },
    Keyed {
        name: "openai",
        key: "OPENAI_API_KEY",
        base_variable: "OPENAI_BASE_URL",
        base: "https://api.openai.com/v1",
        wire: |model, known| Box::new(OpenAi::new(model, known)),
    },
];

/// Which variable has the key of a compatible server, by its name and host; others have the last.
const COMPATIBLE_KEYS: [(&str, &str, &str); 9] = [
    ("openai", "api.openai.com", "OPENAI_API_KEY"),
    ("openrouter", "openrouter.ai", "OPENROUTER_API_KEY"),
    ("groq", "api.groq.com", "GROQ_API_KEY"),
    ("deepseek", "api.deepseek.com", "DEEPSEEK_API_KEY"),
    ("mistral", "api.mistral.ai", "MISTRAL_API_KEY"),
    ("xai", "api.x.ai", "XAI_API_KEY"),
    ("together", "api.together.xyz", "TOGETHER_API_KEY"),
    ("gemini", "generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    ("openai-compatible", "", "OPENAI_COMPATIBLE_API_KEY"),
];

/// The providers that a key can be kept for, and the variable that holds each one's.
pub fn key_variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    let anthropic = KEYED.iter().take(1).map(|provider| (provider.name, provider.key));
    anthropic.chain(COMPATIBLE_KEYS.iter().map(|(name, _, variable)| (*name, *variable)))
}

const OLLAMA: &str = "http://localhost:11434";

/// What a [`find`] may be told besides.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The address of the provider, instead of the usual one and of what the environment says. Who
    /// sets this has named it.
    pub base_url: Option<String>,
    /// Certificates to trust besides the machine's, as PEM.
    pub roots: Option<String>,
    /// Waits and chance, for tests.
    pub(crate) tuning: Tuning,
}

/// How long things take. Tests make it short.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tuning {
    pub(crate) timeouts: Timeouts,
    pub(crate) pace: Pace,
}

impl std::fmt::Debug for Tuning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.timeouts.fmt(f)
    }
}

impl Settings {
    /// The same without any wait before a request is sent again, and with at most `patience` for
    /// every byte. For tests, in which nothing else takes time.
    #[must_use]
    pub fn impatient(mut self, patience: std::time::Duration) -> Self {
        let timeouts = Timeouts { connect: patience, first: patience, idle: patience };
        let pace = Pace { wait: |cancel, _| cancel.is_cancelled(), ..Pace::default() };
        self.tuning = Tuning { timeouts, pace };
        self
    }
}

/// The model that is meant: `anthropic:NAME`, `openai:NAME`, `ollama:NAME`,
/// `openai-compatible:URL#NAME`, `scripted:FILE`, a bare name that tells its provider, or, for
/// nothing, the default of the first provider that there is a key for.
///
/// # Errors
/// [`FindError`], which has help.
pub fn find(spec: Option<&str>, lookup: Lookup<'_>) -> Result<Box<dyn Model>, FindError> {
    find_with(spec, lookup, Settings::default())
}

/// The same, with settings.
///
/// # Errors
/// [`FindError`], which has help.
pub fn find_with(
    spec: Option<&str>,
    lookup: Lookup<'_>,
    settings: Settings,
) -> Result<Box<dyn Model>, FindError> {
    let finder = Finder { lookup, settings };
    let Some(spec) = spec.map(str::trim) else { return finder.default() };
    let unknown = || FindError::Unknown(names::printable(spec.as_bytes()));
    let (provider, rest) = match spec.split_once(':') {
        Some((provider, rest)) if is_provider(provider) => (provider, rest),
        _ => (provider_of(spec).ok_or_else(unknown)?, spec),
    };
    if rest.is_empty() {
        return Err(unknown());
    }
    match provider {
        "ollama" => finder.ollama(rest),
        "openai-compatible" => finder.compatible(rest),
        scripted::PROVIDER => script(Path::new(rest)),
        name => finder.keyed(name, rest),
    }
}

fn is_provider(name: &str) -> bool {
    let others = ["ollama", "openai-compatible", scripted::PROVIDER];
    KEYED.iter().map(|provider| provider.name).chain(others).any(|known| known == name)
}

fn script(file: &Path) -> Result<Box<dyn Model>, FindError> {
    let shown = || names::printable(file.as_os_str().as_encoded_bytes());
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| FindError::Unreadable { file: shown(), error })?;
    let script =
        Script::parse(&text).map_err(|error| FindError::Script { file: shown(), error })?;
    Ok(Box::new(Scripted::new(script)))
}

struct Finder<'l> {
    lookup: Lookup<'l>,
    settings: Settings,
}

impl Finder<'_> {
    /// A variable that says something.
    fn said(&self, name: &str) -> Option<Secret<String>> {
        (self.lookup)(name).filter(|value| !value.expose().trim().is_empty())
    }

    fn default(&self) -> Result<Box<dyn Model>, FindError> {
        let provider = KEYED.iter().find(|provider| self.said(provider.key).is_some());
        let provider = provider.ok_or(FindError::NoModel)?;
        let model = listed(provider.name).first().copied().ok_or(FindError::NoModel)?;
        self.keyed(provider.name, model)
    }

    fn keyed(&self, name: &str, model: &str) -> Result<Box<dyn Model>, FindError> {
        let provider = KEYED.iter().find(|provider| provider.name == name);
        let provider = provider.ok_or_else(|| FindError::Unknown(name.to_owned()))?;
        let (key, base) = self.access(provider)?;
        let known = Known::of(name, model);
        let abilities = known.abilities.clone();
        let wire = (provider.wire)(model, known);
        self.client(ModelId::new(name, model), abilities, wire, Some(key), base)
    }

    /// The key and the address of a provider.
    fn access(&self, provider: &Keyed) -> Result<(Secret<String>, Base), FindError> {
        let key = self.said(provider.key).ok_or(FindError::NoKey {
            provider: provider.name.to_owned(),
            variable: provider.key,
        })?;
        let named = self.said(provider.base_variable);
        let usual = named.as_ref().map_or(provider.base, |url| url.expose());
        Ok((key, self.base(usual)?))
    }

    /// The address that was set, or this one if it is protected.
    fn base(&self, usual: &str) -> Result<Base, FindError> {
        Ok(match &self.settings.base_url {
            Some(named) => Base::parse(named)?,
            None => Base::parse(usual)?.protected()?,
        })
    }

    fn ollama(&self, model: &str) -> Result<Box<dyn Model>, FindError> {
        let place = ollama_place(self.lookup);
        let url = self.settings.base_url.as_ref().unwrap_or(&place);
        let base = Base::parse(&format!("{}/v1", url.trim_end_matches('/')))?;
        let wire = Box::new(Chat::new("ollama", model));
        self.client(ModelId::new("ollama", model), local(), wire, None, base)
    }

    fn compatible(&self, rest: &str) -> Result<Box<dyn Model>, FindError> {
        let unknown = || FindError::Unknown(names::printable(rest.as_bytes()));
        let (url, model) = rest.split_once('#').ok_or_else(unknown)?;
        if model.is_empty() {
            return Err(unknown());
        }
        let base = Base::parse(self.settings.base_url.as_deref().unwrap_or(url))?;
        let meant =
            COMPATIBLE_KEYS.iter().find(|(_, host, _)| host.is_empty() || *host == base.host);
        let key = meant.and_then(|(_, _, variable)| self.said(variable));
        let wire = Box::new(Chat::new("openai-compatible", model));
        self.client(ModelId::new("openai-compatible", model), local(), wire, key, base)
    }

    fn client(
        &self,
        id: ModelId,
        abilities: Abilities,
        wire: Box<dyn Wire>,
        key: Option<Secret<String>>,
        base: Base,
    ) -> Result<Box<dyn Model>, FindError> {
        if key.is_some() && !base.secure && !base.is_loopback() {
            return Err(FindError::KeyInTheOpen(base.authority()));
        }
        let key = key.map(|key| Secret::new(key.expose().trim().to_owned()));
        let Tuning { timeouts, pace } = self.settings.tuning;
        let roots = self.settings.roots.as_deref();
        let transport = Transport::new(base, proxy(self.lookup)?, roots, timeouts)?;
        Ok(Box::new(Client { id, abilities, wire, key, transport, pace }))
    }
}

fn proxy(lookup: Lookup<'_>) -> Result<Option<Proxy>, FindError> {
    let said = |name: &str| lookup(name).filter(|value| !value.expose().trim().is_empty());
    let of = |name: &str| said(name).or_else(|| said(&name.to_lowercase()));
    let Some(url) = of("HTTPS_PROXY") else { return Ok(None) };
    let except = of("NO_PROXY").unwrap_or_default();
    Ok(Some(Proxy::parse(url.expose(), except.expose())?))
}

/// Nobody says what a local model can; images and effort are passed on, and the server may refuse.
fn local() -> Abilities {
    Abilities { images: true, effort: true, ..Abilities::default() }
}

/// `OLLAMA_HOST` may be a host, a host and a port, or a URL; one that a server listens on
/// everywhere is reached on this machine.
pub(crate) fn ollama_place(lookup: Lookup<'_>) -> String {
    let host = lookup("OLLAMA_HOST").unwrap_or_default();
    let host = host.expose().trim().trim_end_matches('/');
    if host.is_empty() {
        return OLLAMA.to_owned();
    }
    let url = match host.contains("://") {
        true => host.to_owned(),
        false if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) => {
            format!("http://{host}")
        }
        false => format!("http://{host}:11434"),
    };
    url.replace("://0.0.0.0", "://127.0.0.1")
}

/// A provider, as `loop models` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usable {
    /// `anthropic:NAME`, or what would have to be written.
    pub id: String,
    /// Whether it can be used.
    pub state: State,
}

/// Whether a model can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It can.
    Available,
    /// It can't.
    Missing {
        /// Why.
        why: String,
        /// What would help.
        help: String,
    },
}

/// What there is to use, and why something isn't. Asks the local server for its models, and waits
/// for a moment only.
#[must_use]
pub fn usable(lookup: Lookup<'_>) -> Vec<Usable> {
    let finder = Finder { lookup, settings: Settings::default() };
    let keyed = KEYED.iter().flat_map(|provider| {
        let access = finder.access(provider);
        let state = access.map_or_else(State::missing, |_| State::Available);
        let models = listed(provider.name).into_iter();
        models.map(move |model| Usable {
            id: format!("{}:{model}", provider.name),
            state: state.clone(),
        })
    });
    let mut all: Vec<_> = keyed.collect();
    all.extend(crate::ollama::usable(lookup));
    all
}

impl State {
    fn missing(error: FindError) -> Self {
        Self::Missing { why: error.to_string(), help: error.help() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<Secret<String>> + 'a {
        move |name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| Secret::new((*value).to_owned()))
        }
    }

    fn id(spec: Option<&str>, set: &[(&str, &str)]) -> String {
        match find(spec, &look(set)) {
            Ok(model) => model.id().to_string(),
            Err(error) => format!("{error}; {}", error.help()),
        }
    }

    #[test]
    fn every_form_names_its_model_or_says_what_would_help() {
        let claude = ("ANTHROPIC_API_KEY", "k");
        let gpt = ("OPENAI_API_KEY", "k");
        let cases = [
            id(None, &[]),
            id(None, &[claude, gpt]),
            id(None, &[("ANTHROPIC_API_KEY", " "), gpt]),
            id(Some("anthropic:claude-x"), &[claude]),
            id(Some("anthropic:claude-x"), &[]),
            id(Some("claude-opus-5-5"), &[claude]),
            id(Some("gpt-6.2-sol"), &[]),
            id(Some("o3"), &[gpt]),
            id(Some("llama3"), &[]),
            id(Some("openai:"), &[gpt]),
            id(Some("ollama:qwen3:8b"), &[]),
            id(Some("openai-compatible:http://10.0.0.9:8000/v1#m"), &[]),
            id(Some("openai-compatible:https://openrouter.ai/api/v1#a/b"), &[]),
            id(
                Some("openai-compatible:http://10.0.0.9/v1#m"),
                &[("OPENAI_COMPATIBLE_API_KEY", "k")],
            ),
            id(Some("openai-compatible:http://localhost/v1"), &[]),
            id(Some("openai-compatible:ftp://localhost/v1#m"), &[]),
            id(None, &[claude, ("ANTHROPIC_BASE_URL", "http://example.com")]),
            id(None, &[claude, ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")]),
            id(None, &[claude, ("HTTPS_PROXY", "socks5://me:canary@x:1")]),
            id(Some("scripted:/does/not/exist"), &[]),
        ];
        insta::assert_snapshot!(cases.join("\n"));
    }

    #[test]
    fn a_key_shows_nowhere() {
        let set = [("ANTHROPIC_API_KEY", "canary"), ("OPENAI_API_KEY", "canary")];
        let lookup = look(&set);
        let finder = Finder { lookup: &lookup, settings: Settings::default() };
        assert!(!format!("{:?}", finder.settings).contains("canary"));
        assert!(!format!("{:?}", usable(&lookup)).contains("canary"));
    }

    #[test]
    fn where_ollama_is() {
        let place = |host: &str| ollama_place(&look(&[("OLLAMA_HOST", host)]));
        assert_eq!(place(""), "http://localhost:11434");
        assert_eq!(place("0.0.0.0"), "http://127.0.0.1:11434");
        assert_eq!(place("box:9"), "http://box:9");
        assert_eq!(place("https://box/"), "https://box");
    }
}
