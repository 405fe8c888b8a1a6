//! The files that an agent finds in its home: enough to work without asking what was settled
//! outside.
//!
//! Where the project is an overlay or read-only, the wall holds whatever the agent does, and nothing
//! counts before the person applies it; so the agent's own sandbox and its questions are off. In
//! direct mode its questions are the person's only say in ordinary files, and stay as they are.

use std::path::PathBuf;

use policy::Mode;

/// When a file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Under {
    /// Where what the agent does to the project stays in the run.
    Wall,
    /// In direct mode.
    Direct,
}

impl Under {
    const fn of(mode: Mode) -> Self {
        match mode {
            Mode::Overlay | Mode::ReadOnly => Self::Wall,
            Mode::Direct => Self::Direct,
        }
    }
}

/// One file.
#[derive(Debug)]
pub(super) struct HomeFile {
    /// Its path below the home.
    pub(super) at: &'static str,
    pub(super) under: Under,
    /// Its text, in which a quoted `"$WORD"` stands for what the run knows.
    pub(super) text: &'static str,
}

/// A word of a file, and what it stands for.
pub(super) type Word = (&'static str, String);

/// The files that are there in this mode, each below the home.
pub(super) fn files(files: &[HomeFile], mode: Mode, words: &[Word]) -> Vec<(PathBuf, String)> {
    let there = files.iter().filter(|file| file.under == Under::of(mode));
    there.map(|file| (PathBuf::from(file.at), filled(file.text, words))).collect()
}

/// Puts a JSON string in the place of each word, quotes included. It is a basic string of TOML too.
fn filled(text: &str, words: &[Word]) -> String {
    words.iter().fold(text.to_owned(), |text, (word, value)| {
        let value = serde_json::Value::from(value.as_str()).to_string();
        text.replace(&format!("\"${word}\""), &value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_whatever_is_in_it() {
        let words = [("PROJECT", "/a\"b\\c\nd".to_owned())];
        let json = filled("{\"$PROJECT\": 1, \"PROJECT\": 2}", &words);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["/a\"b\\c\nd"], 1);
        assert_eq!(value["PROJECT"], 2);
    }
}
