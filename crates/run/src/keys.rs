//! The signing key of this person, made at its first use, and the public keys they trust.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use api::{KeyView, Problem, TrustFile, Trusted, TrustedKey, exit};
use ledger::{KeyError, SigningKey, VerifyingKey};

use crate::configuration::{self, Reach};
use crate::problem::{IntoProblem as _, OrProblem as _};
use crate::settings::Settings;
use crate::store::{self, StoreError};

/// The signing key, and whether it was made just now.
///
/// # Errors
/// When it can't be read or made, or others could have read it.
pub(crate) fn signing_key(settings: &Settings) -> Result<(SigningKey, bool), Problem> {
    let path = settings.key_file();
    if let Some(key) = existing(&path)?
        && is_published(settings, &key.verifying())
    {
        return Ok((key, false));
    }
    store::private(&settings.homes.config).or_problem()?;
    // Of several processes, one makes the key and the others then find it.
    let _held = store::hold(&settings.homes.config).or_problem()?;
    let (key, created) = match existing(&path)? {
        Some(key) => (key, false),
        None => (make(&path)?, true),
    };
    store::write_atomically(&public_file(settings), key.verifying().to_text().as_bytes())
        .or_problem()?;
    Ok((key, created))
}

fn is_published(settings: &Settings, key: &VerifyingKey) -> bool {
    fs::read(public_file(settings)).is_ok_and(|found| found == key.to_text().as_bytes())
}

fn existing(path: &Path) -> Result<Option<SigningKey>, Problem> {
    match SigningKey::load(path) {
        Ok(key) => Ok(Some(key)),
        Err(KeyError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, error)
            .with_next("put the key right, or move it away to have a new one made")),
    }
}

/// A key besides that of this machine, to sign with.
///
/// # Errors
/// When it can't be read, others could have read it, or it is a public one.
pub(crate) fn other_signing_key(path: &Path) -> Result<SigningKey, Problem> {
    SigningKey::load(path).map_err(|error| match is_public(path) {
        true => {
            let what = format!("{} is a public key, which signs nothing", path.display());
            Problem::new(exit::USAGE, what).with_next("name the file of its secret key")
        }
        false => unusable(path, error),
    })
}

fn is_public(path: &Path) -> bool {
    let text = store::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.is_some_and(|text| VerifyingKey::parse(&text).is_ok())
}

fn unusable(path: &Path, error: KeyError) -> Problem {
    let names_its_file = matches!(error, KeyError::File { .. } | KeyError::Exposed { .. });
    let problem = error.into_problem();
    if names_its_file {
        return problem;
    }
    Problem { what: format!("{}: {}", path.display(), problem.what), ..problem }
}

/// Makes a key beside its place and then moves it there, so that it is whole or absent.
fn make(path: &Path) -> Result<SigningKey, Problem> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(store::at(&new)(error)).or_problem();
        }
        _ => {}
    }
    let random = random(path).or_problem()?;
    let key = SigningKey::create(&new, random).map_err(|error| unusable(&new, error))?;
    fs::rename(&new, path).map_err(store::at(path)).or_problem()?;
    Ok(key)
}

fn random(path: &Path) -> Result<[u8; 32], StoreError> {
    let mut random = [0; 32];
    // Up to 256 bytes come whole, once the kernel has them: getrandom(2).
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| store::at(path)(error.into()))?;
    Ok(random)
}

fn public_file(settings: &Settings) -> PathBuf {
    settings.key_file().with_extension("pub")
}

/// `loop key show`: the signing key, made at its first use.
pub(crate) fn key_show(settings: &Settings) -> Result<KeyView, Problem> {
    let (key, created) = signing_key(settings)?;
    let public = key.verifying();
    Ok(KeyView {
        id: public.id().to_string(),
        public: line(&public),
        path: public_file(settings),
        created,
    })
}

/// `loop key create`: a key besides, as for whoever witnesses.
pub(crate) fn key_create(settings: &Settings, file: &Path) -> Result<KeyView, Problem> {
    let path = settings.absolute(file);
    let public_path = path.with_extension("pub");
    if let Some(there) = [&path, &public_path].into_iter().find(|it| it.symlink_metadata().is_ok())
    {
        let what = format!("{} is there already", there.display());
        return Err(Problem::new(exit::NO, what).with_next("name a file that does not exist"));
    }
    let random = random(&path).or_problem()?;
    let key = SigningKey::create(&path, random).map_err(|error| unusable(&path, error))?;
    let public = key.verifying();
    store::write_new(&public_path, public.to_text().as_bytes()).or_problem()?;
    let id = public.id().to_string();
    Ok(KeyView { id, public: line(&public), path: public_path, created: true })
}

/// Whose receipts this machine trusts: `trust.toml`, its own key, and `trusted-keys/*.pub`. Makes
/// none.
pub(crate) fn trusted(settings: &Settings) -> Result<Trusted, Problem> {
    let path = settings.homes.config.join("trust.toml");
    let text = configuration::read(&path, Reach::EveryDirectory)?;
    Ok(Trusted { keys: keys(settings)?, file: text.map(|text| TrustFile { path, text }) })
}

/// The same, as the verifier takes it.
pub(crate) fn trusted_by_verifier(settings: &Settings) -> Result<Vec<ledger::TrustedKey>, Problem> {
    let Trusted { keys, file } = trusted(settings)?;
    let limited = file.map(|file| verifier::read_trust(&file.text, &file.path.to_string_lossy()));
    let limited = limited.transpose().or_problem()?;
    let keys: Result<_, _> = keys.iter().map(|key| VerifyingKey::parse(&key.public)).collect();
    Ok(verifier::together(limited.unwrap_or_default(), keys.or_problem()?))
}

fn keys(settings: &Settings) -> Result<Vec<TrustedKey>, Problem> {
    let own = existing(&settings.key_file())?;
    let own = own.map(|key| named(&key.verifying(), public_file(settings)));
    let others = others(&settings.homes.config.join("trusted-keys"))?;
    Ok(own.into_iter().chain(others).collect())
}

fn others(directory: &Path) -> Result<Vec<TrustedKey>, Problem> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => {
            entries.collect::<Result<Vec<_>, _>>().map_err(store::at(directory)).or_problem()?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(store::at(directory)(error)).or_problem(),
    };
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension() == Some(OsStr::new("pub")));
    files.sort();
    files.into_iter().filter_map(|path| read_public(path).transpose()).collect()
}

/// `None` if the file vanished meanwhile.
fn read_public(path: PathBuf) -> Result<Option<TrustedKey>, Problem> {
    let Some(text) = configuration::read(&path, Reach::EveryDirectory)? else { return Ok(None) };
    let key = VerifyingKey::parse(&text).map_err(|error| unusable(&path, error))?;
    Ok(Some(named(&key, path)))
}

fn named(key: &VerifyingKey, path: PathBuf) -> TrustedKey {
    TrustedKey { id: key.id().to_string(), public: line(key), path }
}

fn line(key: &VerifyingKey) -> String {
    key.to_text().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn another_key_is_made_where_nothing_is() {
        let world = World::new();
        let file = world.settings.homes.home.join("second.key");
        let made = key_create(&world.settings, &file).unwrap();
        let secret = SigningKey::load(&file).unwrap();
        assert_eq!((secret.id().to_string(), made.created), (made.id, true));
        assert_eq!(fs::read_to_string(made.path).unwrap(), secret.verifying().to_text());
        let before = fs::read(&file).unwrap();
        let again = key_create(&world.settings, &file).unwrap_err();
        assert!(again.what.ends_with("second.key is there already"), "{again:?}");
        let elsewhere = key_create(&world.settings, &file.with_file_name("none/second.key"));
        let elsewhere = elsewhere.unwrap_err();
        assert_eq!(
            (elsewhere.code, elsewhere.next.as_deref()),
            (exit::NOT_FOUND, Some("check the path"))
        );
        // The public half of another key is not replaced either.
        fs::rename(&file, file.with_extension("moved")).unwrap();
        assert!(key_create(&world.settings, &file).is_err() && !file.exists());
        assert_eq!(fs::read(file.with_extension("moved")).unwrap(), before);
    }

    #[test]
    fn the_key_is_made_once_and_in_private() {
        let world = World::new();
        assert_eq!(trusted(&world.settings).unwrap(), Trusted::default());
        let made = key_show(&world.settings).unwrap();
        let again = key_show(&world.settings).unwrap();
        assert!(made.created && !again.created);
        assert_eq!(made.public, again.public);
        assert_eq!(
            VerifyingKey::parse(&fs::read_to_string(&made.path).unwrap()).unwrap().id().to_string(),
            made.id
        );
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&world.settings.key_file()), 0o600);
        assert_eq!(mode(&world.settings.homes.config), 0o700);
        let names: Vec<_> = fs::read_dir(&world.settings.homes.config)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn two_at_a_time_make_one() {
        let world = World::new();
        let ids: Vec<_> = std::thread::scope(|scope| {
            let makers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| signing_key(&world.settings).unwrap())).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert_eq!(ids.iter().filter(|(_, created)| *created).count(), 1);
        assert!(ids.iter().all(|(key, _)| key.id() == ids[0].0.id()));
    }

    #[test]
    fn keys_of_others_are_trusted_and_a_bad_one_is_named() {
        let world = World::new();
        let own = key_show(&world.settings).unwrap();
        let other = SigningKey::generate([7; 32]).verifying();
        let place = world.settings.homes.config.join("trusted-keys");
        world.write(&place.join("team.pub"), &other.to_text());
        world.write(&place.join("README"), "no key");
        let ids: Vec<_> =
            trusted(&world.settings).unwrap().keys.into_iter().map(|key| key.id).collect();
        assert_eq!(ids, [own.id, other.id().to_string()]);
        world.write(&place.join("torn.pub"), "loop-ed25519 AAAA");
        assert!(trusted(&world.settings).unwrap_err().what.contains("torn.pub"));
    }

    #[test]
    fn the_trust_file_outweighs_that_a_key_is_known() {
        let world = World::new();
        let own = key_show(&world.settings).unwrap();
        let path = world.settings.homes.config.join("trust.toml");
        world.write(
            &path,
            &format!("[[key]]\nname = \"me\"\npublic = \"{}\"\noutcomes = []\n", own.public),
        );
        let trusted = trusted_by_verifier(&world.settings).unwrap();
        let named: Vec<_> = trusted.iter().map(|key| (key.name.as_str(), &key.outcomes)).collect();
        assert_eq!(named, [("me", &Some(vec![]))]);
        world.write(&path, "[[key]]\nname = \"me\"\nfriend = true\n");
        let problem = trusted_by_verifier(&world.settings).unwrap_err();
        assert_eq!(problem.what, "the trust file has 2 faults");
        let unknown = |fault: &api::Finding| {
            (fault.line, fault.what.as_str()) == (Some(3), "unknown key `friend`")
        };
        assert!(problem.findings.iter().any(unknown), "{problem:?}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(super::trusted(&world.settings).is_err());
    }

    #[test]
    fn an_exposed_or_torn_key_is_refused() {
        let world = World::new();
        key_show(&world.settings).unwrap();
        let path = world.settings.key_file();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(signing_key(&world.settings).unwrap_err().what.contains("not private"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "").unwrap();
        let problem = signing_key(&world.settings).unwrap_err();
        assert!(problem.what.contains(&path.display().to_string()), "{}", problem.what);
        assert!(problem.next.unwrap().ends_with("to have a new one made"));
    }
}
