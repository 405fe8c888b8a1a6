//! Keys of model providers: kept by `loop login`, and looked up when a model is wanted.
//!
//! A key is in a private file or in the desktop's keyring. A variable of the environment is taken
//! before it. No run can see either: the model loop is on this side of the wall.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use api::{LoginRequest, LoginView, ModelView, Problem, exit};
use models::{State, key_variables};
use names::Secret;

use crate::lease::{self, keyring};
use crate::problem::OrProblem as _;
use crate::settings::Settings;
use crate::store::{self, write_atomically};

/// What says that a key is in the keyring, in the file that would hold it.
const IN_KEYRING: &str = "keyring";
/// What stands before a key in its file.
pub(crate) const KEY: &str = "key ";
/// What the keyring calls the attribute that names a provider.
pub(crate) const ATTRIBUTE: &str = "login";

/// `loop login`.
///
/// # Errors
/// A provider that nobody knows; a key that can't be one; a place that can't be written.
pub(crate) fn login(settings: &Settings, request: &LoginRequest) -> Result<LoginView, Problem> {
    let (provider, variable) = known(&request.provider)?;
    let key = request.key.expose().trim();
    let plain = |byte: u8| byte.is_ascii_graphic();
    if key.is_empty() || !key.bytes().all(plain) {
        let what = "that is no key: a key is one word of visible ASCII characters";
        return Err(Problem::new(exit::USAGE, what));
    }
    let path = file(settings, provider);
    store::private(&directory(settings)).or_problem()?;
    if request.keyring {
        let label = format!("Loop: {provider}");
        keyring::store(settings, &label, (ATTRIBUTE, provider), &request.key)?;
        write_atomically(&path, IN_KEYRING.as_bytes()).or_problem()?;
    } else {
        write_atomically(&path, format!("{KEY}{key}").as_bytes()).or_problem()?;
    }
    Ok(view(provider, variable, &path, request.keyring))
}

/// `loop logout`.
///
/// # Errors
/// When no key of that provider is kept.
pub(crate) fn logout(settings: &Settings, provider: &str) -> Result<LoginView, Problem> {
    let (provider, variable) = known(provider)?;
    let path = file(settings, provider);
    let Ok(kept) = store::read(&path) else {
        let what = format!("no key of {provider} is kept");
        return Err(Problem::new(exit::NOT_FOUND, what));
    };
    let in_keyring = kept == IN_KEYRING.as_bytes();
    if in_keyring {
        keyring::clear(settings, (ATTRIBUTE, provider))?;
    }
    fs::remove_file(&path).map_err(store::at(&path)).or_problem()?;
    Ok(view(provider, variable, &path, in_keyring))
}

/// `loop models`.
///
/// # Errors
/// When a key that is kept can't be read.
pub(crate) fn models(settings: &Settings) -> Result<Vec<ModelView>, Problem> {
    let keys = Keys::read(settings)?;
    let lookup = |name: &str| keys.lookup(name);
    let default = models::find(None, &lookup).ok().map(|model| model.id().to_string());
    let usable = models::usable(&lookup);
    let view = |one: models::Usable| {
        let (why, next) = match one.state {
            State::Available => (None, None),
            State::Missing { why, help } => (Some(why), Some(help)),
        };
        let is_default = default.as_ref() == Some(&one.id);
        ModelView { available: why.is_none(), default: is_default, model: one.id, why, next }
    };
    Ok(usable.into_iter().map(view).collect())
}

/// The environment, and beneath it the keys that are kept.
pub(crate) struct Keys<'a> {
    settings: &'a Settings,
    kept: Vec<(&'static str, Secret<String>)>,
}

impl<'a> Keys<'a> {
    /// Reads what is kept, as far as the environment doesn't have it.
    ///
    /// # Errors
    /// A file that others can read; a keyring that doesn't answer.
    pub(crate) fn read(settings: &'a Settings) -> Result<Self, Problem> {
        let mut kept = Vec::new();
        for (provider, variable) in key_variables() {
            if settings.said(variable).is_none()
                && let Some(key) = lease::kept_key(settings, provider)?
            {
                kept.push((variable, key));
            }
        }
        Ok(Self { settings, kept })
    }

    /// The value of a variable, as text.
    pub(crate) fn lookup(&self, name: &str) -> Option<Secret<String>> {
        if let Some(set) = self.settings.said(name) {
            return String::from_utf8(set.into_vec()).ok().map(Secret::new);
        }
        self.kept.iter().find(|(kept, _)| *kept == name).map(|(_, key)| key.clone())
    }
}

/// The provider of this name, and its variable.
///
/// # Errors
/// That there is none, with those that there are.
pub(crate) fn known(provider: &str) -> Result<(&'static str, &'static str), Problem> {
    key_variables().find(|(name, _)| *name == provider).ok_or_else(|| {
        let names: Vec<_> = key_variables().map(|(name, _)| name).collect();
        let what = format!("no provider is called {}", names::printable(provider.as_bytes()));
        Problem::new(exit::USAGE, what).with_next(format!("name one of {}", names.join(", ")))
    })
}

fn directory(settings: &Settings) -> PathBuf {
    settings.homes.config.join("logins")
}

/// Where the key of a provider is kept, or that it is in the keyring.
pub(crate) fn file(settings: &Settings, provider: &str) -> PathBuf {
    directory(settings).join(provider)
}

/// The provider whose key is kept for this variable.
pub(crate) fn kept_for(settings: &Settings, variable: &str) -> Option<&'static str> {
    let (provider, _) = key_variables().find(|(_, known)| *known == variable)?;
    file(settings, provider).is_file().then_some(provider)
}

fn view(provider: &str, variable: &str, path: &Path, in_keyring: bool) -> LoginView {
    let kept = if in_keyring { "keyring".to_owned() } else { path.display().to_string() };
    LoginView { provider: provider.to_owned(), variable: variable.to_owned(), kept }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use std::os::unix::fs::PermissionsExt as _;

    const CANARY: &str = "sk-canary-77aa";

    fn request(provider: &str, key: &str) -> LoginRequest {
        let key = Secret::new(key.to_owned());
        LoginRequest { provider: provider.to_owned(), key, keyring: false }
    }

    fn value(world: &World, name: &str) -> Option<String> {
        let keys = Keys::read(&world.settings).unwrap();
        keys.lookup(name).map(Secret::into_exposed)
    }

    #[test]
    fn a_key_is_kept_in_private_and_the_environment_goes_before_it() {
        let mut world = World::new();
        assert_eq!(value(&world, "ANTHROPIC_API_KEY"), None);
        let made = login(&world.settings, &request("anthropic", &format!("{CANARY}\n"))).unwrap();
        assert_eq!(made.variable, "ANTHROPIC_API_KEY");
        let mode = fs::metadata(&made.kept).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(value(&world, "ANTHROPIC_API_KEY").as_deref(), Some(CANARY));
        assert_eq!(value(&world, "OPENAI_API_KEY"), None);
        world.settings.environment.insert("ANTHROPIC_API_KEY".into(), "sk-other".into());
        assert_eq!(value(&world, "ANTHROPIC_API_KEY").as_deref(), Some("sk-other"));
        assert_eq!(logout(&world.settings, "anthropic").unwrap(), made);
        assert_eq!(logout(&world.settings, "anthropic").unwrap_err().code, exit::NOT_FOUND);
    }

    #[test]
    fn what_can_be_no_key_is_refused_without_being_repeated() {
        let world = World::new();
        for bad in ["", " ", "a b", "a\nb", "\u{e9}canary"] {
            let error = login(&world.settings, &request("openai", bad)).unwrap_err();
            assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        }
        let error = login(&world.settings, &request("nobody", CANARY)).unwrap_err();
        assert!(error.next.unwrap().contains("openrouter"));
        assert!(!error.what.contains(CANARY));
        assert!(!format!("{:?}", request("openai", CANARY)).contains(CANARY));
    }

    #[test]
    fn a_key_that_others_can_read_is_not_used() {
        let world = World::new();
        let made = login(&world.settings, &request("groq", CANARY)).unwrap();
        fs::set_permissions(&made.kept, fs::Permissions::from_mode(0o644)).unwrap();
        let error = Keys::read(&world.settings).err().unwrap();
        assert!(error.what.contains("644") && error.next.unwrap().contains("chmod 600"));
        assert!(!error.what.contains(CANARY));
    }

    #[test]
    fn models_that_lack_a_key_say_what_would_help() {
        let mut world = World::new();
        world.settings.environment.insert("OLLAMA_HOST".into(), "127.0.0.1:9".into());
        login(&world.settings, &request("openai", CANARY)).unwrap();
        let all = models(&world.settings).unwrap();
        let of = |provider: &str| {
            all.iter().filter(|one| one.model.starts_with(provider)).collect::<Vec<_>>()
        };
        assert!(of("openai:").iter().all(|one| one.available));
        assert_eq!(of("openai:").iter().filter(|one| one.default).count(), 1);
        let anthropic = of("anthropic:");
        assert!(anthropic.iter().all(|one| !one.available && one.next.is_some()));
        assert!(of("ollama:").iter().all(|one| !one.available));
    }

    #[test]
    fn the_keyring_is_spoken_to_by_attributes_and_a_key_is_never_an_argument() {
        let mut world = World::new();
        let bin = world.project.join("bin");
        fs::create_dir(&bin).unwrap();
        let (tool, kept) = (bin.join("secret-tool"), world.project.join("kept"));
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> {kept}.args\ncase $1 in\n\
             store) cat > {kept};;\nlookup) cat {kept};;\nclear) rm {kept};;\nesac\n",
            kept = kept.display()
        );
        fs::write(&tool, script).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", bin.display());
        world.settings.environment.insert("PATH".into(), path.into());
        let made =
            login(&world.settings, &LoginRequest { keyring: true, ..request("xai", CANARY) });
        assert_eq!(made.unwrap().kept, "keyring");
        assert_eq!(value(&world, "XAI_API_KEY").as_deref(), Some(CANARY));
        logout(&world.settings, "xai").unwrap();
        assert!(!kept.exists());
        let said = fs::read_to_string(format!("{}.args", kept.display())).unwrap();
        assert!(said.contains("lookup service loop login xai") && !said.contains(CANARY), "{said}");
    }
}
