//! What a case is run through: Loop, or any other program that takes a command after its own words.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Why some text is not a launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LauncherError {
    /// There are no words in it.
    #[error("the launcher is empty")]
    Empty,
    /// A quote is opened and never closed, or the text ends in a backslash.
    #[error("the launcher ends inside a quotation")]
    Unclosed,
}

/// The words that go in front of a command.
///
/// In a launcher that isn't Loop, `{project}` and `{home}` stand for the scratch project and the
/// scratch home directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    words: Vec<OsString>,
    own: bool,
}

/// The places of one arm that a launcher may be told about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) project: &'a Path,
    pub(crate) home: &'a Path,
    pub(crate) report: &'a Path,
    pub(crate) profile: Option<&'a Path>,
}

impl Launcher {
    /// Loop itself, by the path of its program.
    pub fn own(program: impl Into<PathBuf>) -> Self {
        Self { words: vec![program.into().into()], own: true }
    }

    /// Any other launcher, as words.
    ///
    /// # Errors
    /// [`LauncherError::Empty`] if there are none.
    pub fn new<W: Into<OsString>>(
        words: impl IntoIterator<Item = W>,
    ) -> Result<Self, LauncherError> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        if words.is_empty() { Err(LauncherError::Empty) } else { Ok(Self { words, own: false }) }
    }

    /// Any other launcher, as a line of text. Words are split as a shell splits them: blanks, single
    /// and double quotes, backslashes; nothing is expanded.
    ///
    /// # Errors
    /// [`LauncherError`] if the line has no words or ends within a quotation.
    pub fn via(line: &str) -> Result<Self, LauncherError> {
        Self::new(split(line)?)
    }

    /// Whether this is Loop.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// The launcher as a line, for people.
    pub fn describe(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        if self.own { format!("{} exec", words.join(" ")) } else { words.join(" ") }
    }

    /// The program of Loop, if this is Loop.
    pub(crate) fn program(&self) -> Option<&Path> {
        self.words.first().filter(|_| self.own).map(Path::new)
    }

    /// All the words in front of the command.
    pub(crate) fn words(&self, places: Places<'_>) -> Vec<OsString> {
        if self.own { self.own_words(places) } else { self.other_words(places) }
    }

    fn own_words(&self, places: Places<'_>) -> Vec<OsString> {
        let mut words = self.words.clone();
        words.extend(["exec", "--quiet", "--report"].map(OsString::from));
        words.push(places.report.into());
        if let Some(profile) = places.profile {
            words.extend(["--profile".into(), profile.into()]);
        }
        words.push("--".into());
        words
    }

    fn other_words(&self, places: Places<'_>) -> Vec<OsString> {
        let fill = |word: &OsString| match word.to_str() {
            None => word.clone(),
            Some(text) => text
                .replace("{project}", &places.project.to_string_lossy())
                .replace("{home}", &places.home.to_string_lossy())
                .into(),
        };
        self.words.iter().map(fill).collect()
    }
}

/// Splits a line into words.
fn split(line: &str) -> Result<Vec<String>, LauncherError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => word.get_or_insert_default().push_str(&single_quoted(&mut letters)?),
            '"' => word.get_or_insert_default().push_str(&double_quoted(&mut letters)?),
            '\\' => word.get_or_insert_default().push(escaped(&mut letters)?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

fn escaped(letters: &mut std::str::Chars<'_>) -> Result<char, LauncherError> {
    letters.next().ok_or(LauncherError::Unclosed)
}

fn single_quoted(letters: &mut std::str::Chars<'_>) -> Result<String, LauncherError> {
    let rest = letters.as_str();
    let (inside, after) = rest.split_once('\'').ok_or(LauncherError::Unclosed)?;
    *letters = after.chars();
    Ok(inside.to_owned())
}

fn double_quoted(letters: &mut std::str::Chars<'_>) -> Result<String, LauncherError> {
    let mut inside = String::new();
    loop {
        match escaped(letters)? {
            '"' => return Ok(inside),
            '\\' => match escaped(letters)? {
                special @ ('"' | '\\' | '$' | '`') => inside.push(special),
                other => inside.extend(['\\', other]),
            },
            other => inside.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_words_as_a_shell_does() {
        let line = r#" bwrap  --bind 'a b' "c \"d\" \e" f\ g '' --"#;
        assert_eq!(
            split(line).unwrap(),
            ["bwrap", "--bind", "a b", r#"c "d" \e"#, "f g", "", "--"]
        );
        assert!(split("").unwrap().is_empty());
    }

    #[test]
    fn refuses_what_a_shell_would_go_on_reading() {
        for line in ["a 'b", "a \"b", "a \\", "\"a\\"] {
            assert_eq!(Launcher::via(line), Err(LauncherError::Unclosed), "{line}");
        }
        assert_eq!(Launcher::via("  "), Err(LauncherError::Empty));
    }

    #[test]
    fn tells_each_launcher_where_things_are() {
        let places = Places {
            project: Path::new("/p"),
            home: Path::new("/h"),
            report: Path::new("/r.json"),
            profile: Some(Path::new("/f.toml")),
        };
        let other = Launcher::via("docker run -v {project}:{project} image").unwrap();
        assert_eq!(other.words(places), ["docker", "run", "-v", "/p:/p", "image"]);
        let own = Launcher::own("/bin/loop");
        assert_eq!(
            own.words(places),
            ["/bin/loop", "exec", "--quiet", "--report", "/r.json", "--profile", "/f.toml", "--"]
        );
    }
}
