//! The cases as data: what a `case.toml` says, and the scripts beside it.

use std::collections::BTreeMap;
use std::time::Duration;

use include_dir::{Dir, include_dir};
use serde::{Deserialize, Serialize};

/// The profile, and another one for the neighbour.
pub(crate) const PROFILES: [&str; 2] = ["profile.toml", "profile-neighbour.toml"];
/// What the name server of its internet says.
const NAMES: &str = "names";

static CASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/cases");

/// Why the corpus can't be used as it is.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A case's description can't be read.
    #[error("case {case}: {problem}")]
    Case {
        /// The folder.
        case: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Nothing goes by this name.
    #[error("no case, row or group is called {0:?}; `loop attack --list` shows them all")]
    Unknown(String),
}

/// Whether a case is something forbidden or something ordinary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Passes when the forbidden effect did not happen.
    Attack,
    /// Passes when ordinary work still succeeds.
    Work,
}

/// Where the scripts of a case run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Through {
    /// The attack and its neighbour run through the launcher.
    #[default]
    Launcher,
    /// They run on the host in every arm and use Loop's commands themselves.
    Host,
}

/// What goes in front of the command, before the launcher.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wrap {
    /// The words; `@NAME@` stands for a fact.
    pub(crate) command: Vec<String>,
    /// Whether the neighbour is wrapped too.
    #[serde(default)]
    pub(crate) neighbour: bool,
}

/// What Loop, in particular, must say about the confined arm.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Expect {
    /// The exit code.
    pub(crate) exit: Option<i32>,
    /// Words that its message contains, whatever their case.
    #[serde(default)]
    pub(crate) says: Vec<String>,
    /// The limit that its report names.
    pub(crate) limit: Option<String>,
    /// Whether it refuses to start the command.
    #[serde(default)]
    pub(crate) refusal: Refusal,
}

/// Whether the command is refused before it starts, so that the attack is never tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Refusal {
    /// It must run, and be held.
    #[default]
    Never,
    /// It may run and be held, or be refused with the code and the words that are expected.
    May,
    /// It must be refused.
    Must,
}

/// `case.toml`, as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Description {
    id: String,
    title: String,
    kind: Kind,
    summary: String,
    #[serde(default)]
    source: Vec<String>,
    #[serde(default)]
    needs: Vec<String>,
    /// Whether the stand-in for the host's services and processes is wanted.
    #[serde(default)]
    pub(crate) host: bool,
    /// Whether the command has an internet of its own around it, in every arm.
    #[serde(default)]
    pub(crate) internet: bool,
    #[serde(default)]
    pub(crate) through: Through,
    /// How long each script may take, in seconds.
    #[serde(default = "default_timeout")]
    timeout: u64,
    #[serde(default)]
    pub(crate) wrap: Wrap,
    /// Variables of the person's environment; `@NAME@` stands for a fact.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) expect: Expect,
}

fn default_timeout() -> u64 {
    30
}

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    pub(crate) described: Description,
    /// The other files of its folder, by name.
    pub(crate) files: BTreeMap<String, &'static [u8]>,
}

impl Case {
    /// Its name, as `A2-pre-commit-hook`: the row of the table it stands for, and what it is.
    pub fn id(&self) -> &str {
        &self.described.id
    }

    /// The row of the table it stands for, as `A2`.
    pub fn row(&self) -> &str {
        self.id().split_once('-').map_or(self.id(), |(row, _)| row)
    }

    /// The group of its row, as `A`.
    pub fn group(&self) -> &str {
        self.row().trim_end_matches(|letter: char| letter.is_ascii_digit())
    }

    /// What it is, in a line.
    pub fn title(&self) -> &str {
        &self.described.title
    }

    /// Attack or work.
    pub fn kind(&self) -> Kind {
        self.described.kind
    }

    /// What happens, and what must not.
    pub fn summary(&self) -> &str {
        &self.described.summary
    }

    /// Public evidence that this has happened: advisories, issues.
    pub fn source(&self) -> &[String] {
        &self.described.source
    }

    /// Programs and circumstances it can't do without.
    pub fn needs(&self) -> &[String] {
        &self.described.needs
    }

    /// The script of this name in whichever language it is written.
    pub(crate) fn script(&self, name: &str) -> Option<String> {
        ["sh", "py"]
            .into_iter()
            .map(|ending| format!("{name}.{ending}"))
            .find(|file| self.files.contains_key(file))
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.described.timeout)
    }

    fn parse(folder: &'static Dir<'static>) -> Result<Self, CorpusError> {
        let name = folder.path().to_string_lossy().into_owned();
        let fault = |problem: String| CorpusError::Case { case: name.clone(), problem };
        let mut files: BTreeMap<String, &'static [u8]> = folder
            .files()
            .filter_map(|file| {
                Some((file.path().file_name()?.to_str()?.to_owned(), file.contents()))
            })
            .collect();
        let text = files.remove("case.toml").ok_or_else(|| fault("has no case.toml".into()))?;
        let text = std::str::from_utf8(text).map_err(|error| fault(error.to_string()))?;
        let described: Description =
            toml::from_str(text).map_err(|error| fault(error.to_string()))?;
        let case = Self { described, files };
        case.check(&name).map_err(fault)?;
        Ok(case)
    }

    fn check(&self, folder: &str) -> Result<(), String> {
        if self.id() != folder {
            return Err(format!("its id is {:?}", self.id()));
        }
        let wanted: &[&str] = match self.kind() {
            Kind::Attack => &["attack", "neighbour"],
            Kind::Work => &["work"],
        };
        let strange = self.files.keys().find(|name| !is_expected(name));
        if let Some(name) = strange.filter(|_| self.described.wrap.command.is_empty()) {
            return Err(format!("{name} is none of the files of a case"));
        }
        match wanted.iter().find(|name| self.script(name).is_none()) {
            Some(missing) => Err(format!("it has no {missing} script")),
            None => Ok(()),
        }
    }
}

/// Every case that ships.
#[derive(Debug, Clone)]
pub struct Corpus {
    cases: Vec<Case>,
}

impl Corpus {
    /// Reads the cases that are compiled in, in the order of the table.
    ///
    /// # Errors
    /// [`CorpusError::Case`] names the first folder that isn't a case.
    pub fn load() -> Result<Self, CorpusError> {
        let mut cases = CASES.dirs().map(Case::parse).collect::<Result<Vec<_>, _>>()?;
        cases.sort_by(|a, b| order(a).cmp(&order(b)));
        Ok(Self { cases })
    }

    /// The cases, in the order of the table.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The cases that these names stand for: whole ids (`A2-alias`), rows (`A2`) or groups (`A`), in
    /// any case of letters. No name at all is every case.
    ///
    /// # Errors
    /// [`CorpusError::Unknown`] for a name that selects nothing.
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Vec<&Case>, CorpusError> {
        for name in names {
            if !self.cases.iter().any(|case| answers_to(case, name.as_ref())) {
                return Err(CorpusError::Unknown(name.as_ref().to_owned()));
            }
        }
        let wanted = |case: &&Case| {
            names.is_empty() || names.iter().any(|name| answers_to(case, name.as_ref()))
        };
        Ok(self.cases.iter().filter(wanted).collect())
    }
}

fn is_expected(name: &str) -> bool {
    let script = ["setup", "attack", "beside", "trace", "neighbour", "kept", "work", "inside"];
    let stem = name.strip_suffix(".sh").or_else(|| name.strip_suffix(".py"));
    stem.is_some_and(|stem| script.contains(&stem)) || PROFILES.contains(&name) || name == NAMES
}

fn answers_to(case: &Case, name: &str) -> bool {
    [case.id(), case.row(), case.group()].into_iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Attacks before work, then by group, row number and name.
fn order(case: &Case) -> (bool, &str, u32, &str) {
    let number = case.row().get(case.group().len()..).and_then(|digits| digits.parse().ok());
    (case.kind() == Kind::Work, case.group(), number.unwrap_or(0), case.id())
}
