//! One arm's scratch directory: a project, a home, a place outside, and the case's own scripts.
//!
//! ```text
//! loop-attack-XXXXXX/
//!   home/            HOME, with canaries, .loop and .config
//!     project/       the repository; .case/ holds what the sandbox needs of the case
//!     outside/       files and sockets of the host
//!   case/            scripts that only the host runs
//! ```

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use include_dir::{Dir, include_dir};
use tempfile::TempDir;

use crate::case::{Case, PROFILES};
use crate::process::{Ended, Job};
use crate::protocol::{Mark, marks};
use crate::report::Arm;

static LIBRARY: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/lib");

/// Where programs are looked for: system directories that a sandbox shows too.
pub(crate) const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long each step on the host may take: making the project, looking, taking it all away again.
const HOUSEKEEPING: Duration = Duration::from_secs(180);
/// What the command needs of the library and of a case, without the endings. All else stays outside,
/// where no command can change it.
const INSIDE: [&str; 8] = ["lib", "probe", "net", "site", "attack", "neighbour", "work", "inside"];

#[derive(Debug)]
pub(crate) struct Scratch {
    directory: Option<TempDir>,
    root: PathBuf,
    home: PathBuf,
    project: PathBuf,
    outside: PathBuf,
    case: PathBuf,
    nonce: String,
    environment: BTreeMap<String, OsString>,
    facts: BTreeMap<String, String>,
}

impl Scratch {
    /// Makes one under this directory, with everything but the case's own set-up.
    pub(crate) fn make(parent: &Path, case: &Case) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("loop-attack-").tempdir_in(parent)?;
        let root = directory.path().canonicalize()?;
        let nonce = root.file_name().map(|name| name.to_string_lossy().into_owned());
        let nonce = nonce.unwrap_or_default().trim_start_matches("loop-attack-").to_owned();
        let home = root.join("home");
        let mut scratch = Self {
            directory: Some(directory),
            project: home.join("project"),
            outside: home.join("outside"),
            case: root.join("case"),
            environment: environment(&home),
            facts: BTreeMap::new(),
            home,
            root,
            nonce,
        };
        scratch.make_directories()?;
        scratch.write_scripts(case)?;
        scratch.state_places();
        scratch.write_facts()?;
        scratch.make_project()?;
        Ok(scratch)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    pub(crate) fn outside(&self) -> &Path {
        &self.outside
    }

    pub(crate) fn case(&self) -> &Path {
        &self.case
    }

    pub(crate) fn nonce(&self) -> &str {
        &self.nonce
    }

    pub(crate) fn environment(&self) -> &BTreeMap<String, OsString> {
        &self.environment
    }

    /// Adds variables to the person's environment.
    pub(crate) fn extend_environment(&mut self, variables: &BTreeMap<String, String>) {
        for (name, value) in variables {
            self.environment.insert(name.clone(), self.fill(value).into());
        }
    }

    /// Adds facts and tells them to the scripts.
    pub(crate) fn state(
        &mut self,
        facts: impl IntoIterator<Item = (String, String)>,
    ) -> io::Result<()> {
        self.facts.extend(facts);
        self.write_facts()
    }

    /// Replaces `@NAME@` by the fact of that name.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.facts {
            filled = filled.replace(&format!("@{name}@"), value);
        }
        filled
    }

    /// The case's profile with its facts filled in, if it has one; the neighbour's where it differs.
    pub(crate) fn profile(&self, arm: Arm) -> io::Result<Option<PathBuf>> {
        let [usual, neighbours] = PROFILES.map(|name| self.case.join(name));
        let written = if arm == Arm::Neighbour && neighbours.exists() { neighbours } else { usual };
        match fs::read_to_string(&written) {
            Ok(text) => {
                let filled = self.root.join("profile.toml");
                fs::write(&filled, self.fill(&text))?;
                Ok(Some(filled))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn make_directories(&self) -> io::Result<()> {
        for path in [&self.home, &self.project, &self.outside, &self.case] {
            fs::create_dir_all(path)?;
        }
        fs::create_dir(self.project.join(".case"))?;
        DirBuilder::new().mode(0o700).create(self.home.join(".runtime"))
    }

    fn write_scripts(&self, case: &Case) -> io::Result<()> {
        let library = LIBRARY.files().filter_map(|file| {
            Some((file.path().file_name()?.to_string_lossy().into_owned(), file.contents()))
        });
        let own = case.files.iter().map(|(name, text)| (name.clone(), *text));
        for (name, text) in library.chain(own) {
            fs::write(self.case.join(&name), text)?;
            if name.split_once('.').is_some_and(|(stem, _)| INSIDE.contains(&stem)) {
                fs::write(self.project.join(".case").join(&name), text)?;
            }
        }
        Ok(())
    }

    fn state_places(&mut self) {
        let runtime = self.home.join(".runtime");
        let places = [
            ("ROOT", &self.root),
            ("HOST_HOME", &self.home),
            ("PROJECT", &self.project),
            ("OUTSIDE", &self.outside),
            ("CASE", &self.case),
            ("RUNTIME", &runtime),
        ];
        let mut facts: BTreeMap<String, String> = places
            .into_iter()
            .map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned()))
            .collect();
        facts.insert("NONCE".into(), self.nonce.clone());
        facts.insert("HOST_UID".into(), rustix::process::geteuid().as_raw().to_string());
        facts.insert("CANARY".into(), format!("canary-{}", self.nonce));
        self.facts = facts;
    }

    fn write_facts(&self) -> io::Result<()> {
        let quoted = |value: &str| format!("'{}'", value.replace('\'', r"'\''"));
        let shell: String =
            self.facts.iter().map(|(name, value)| format!("{name}={}\n", quoted(value))).collect();
        let json = serde_json::to_vec_pretty(&self.facts)?;
        for directory in [self.case.clone(), self.project.join(".case")] {
            // An attack may have taken the second one away; then nobody reads it either.
            if directory.is_dir() {
                fs::write(directory.join("facts.sh"), &shell)?;
                fs::write(directory.join("facts.json"), &json)?;
            }
        }
        Ok(())
    }

    fn make_project(&self) -> io::Result<()> {
        let words = vec!["bash".into(), self.case.join("project.sh").into()];
        match self.on_host("project", words)? {
            (Ended::Exit(0), _, _) => Ok(()),
            (ended, _, tail) => {
                Err(io::Error::other(format!("the project could not be made ({ended}): {tail}")))
            }
        }
    }

    /// Runs a command on the host in the project and returns what it said.
    pub(crate) fn on_host(
        &self,
        name: &str,
        words: Vec<OsString>,
    ) -> io::Result<(Ended, Vec<Mark>, String)> {
        let job = Job {
            words,
            directory: &self.project,
            environment: &self.environment,
            output: self.root.join(name),
        };
        let (ended, output) = job.start()?.wait(HOUSEKEEPING)?;
        Ok((ended, marks(&output.text(), &self.nonce), output.tail()))
    }

    /// Takes it away. `rm` copes with trees that are deeper than descriptors go.
    pub(crate) fn remove(mut self) -> io::Result<()> {
        let Some(directory) = self.directory.take() else {
            return Ok(());
        };
        let root = directory.keep();
        let output = std::env::temp_dir().join(format!("loop-attack-{}-rm", self.nonce));
        let line = r#"chmod -R u+rwX -- "$1" 2>/dev/null; exec rm -rf --one-file-system -- "$1""#;
        let job = Job {
            words: ["sh", "-c", line, "remove"]
                .iter()
                .map(OsString::from)
                .chain([root.into()])
                .collect(),
            directory: Path::new("/"),
            environment: &self.environment,
            output: output.clone(),
        };
        let (ended, said) = job.start()?.wait(HOUSEKEEPING)?;
        let tail = said.tail();
        for ending in ["out", "err"] {
            fs::remove_file(output.with_extension(ending))?;
        }
        match ended {
            Ended::Exit(0) => Ok(()),
            ended => {
                Err(io::Error::other(format!("the scratch directory stays ({ended}): {tail}")))
            }
        }
    }
}

/// The environment of the person who starts a command: fixed, and all of it within the scratch home.
fn environment(home: &Path) -> BTreeMap<String, OsString> {
    let plain =
        [("PATH", SYSTEM_PATH), ("LANG", "C.UTF-8"), ("TERM", "dumb"), ("SHELL", "/bin/bash")];
    let places = [
        ("HOME", home.to_owned()),
        ("LOOP_HOME", home.join(".loop")),
        ("XDG_CONFIG_HOME", home.join(".config")),
        ("XDG_RUNTIME_DIR", home.join(".runtime")),
    ];
    let plain = plain.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    let places = places.into_iter().map(|(name, path)| (name.to_owned(), path.into()));
    plain.chain(places).collect()
}
