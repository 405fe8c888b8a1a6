//! Patterns of profiles: `*` stands for one segment, `**` for any number of them, everything else
//! for itself.
//!
//! One matcher serves paths, arguments, references and words. A form that isn't supported is an
//! error where the profile is read, never a pattern that matches nothing.

mod glob;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(crate) use glob::{Glob, Segment};

/// Longest pattern, in bytes.
const LONGEST: usize = 4096;
/// Most segments of a pattern.
const MOST_SEGMENTS: usize = 128;

/// A text that is not a pattern of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is nothing.
    #[error("the pattern is empty")]
    Empty,
    /// A `*` inside a segment.
    #[error("`{0}` mixes `*` with other characters")]
    Mixed(String),
    /// A form of other pattern languages.
    #[error("`{0}` is not supported in a pattern")]
    Form(char),
    /// A control byte.
    #[error("the pattern holds a control character")]
    Control,
    /// Over a cap.
    #[error("the pattern is longer than {LONGEST} bytes or {MOST_SEGMENTS} segments")]
    TooLong,
    /// A path that depends on where it is read.
    #[error("the path is not absolute")]
    Relative,
    /// `.` or `..`.
    #[error("the path holds `.` or `..`")]
    Dots,
    /// `//`, or a slash at the end.
    #[error("the path has an empty segment")]
    EmptySegment,
    /// A slash where a name is wanted.
    #[error("`{0}` is neither a file name nor an absolute path")]
    NameOrPath(String),
}

impl PatternError {
    /// What to write instead.
    #[must_use]
    pub fn fix(&self) -> String {
        match self {
            Self::Empty => "write a pattern, or leave the key out".to_owned(),
            Self::Mixed(_) => {
                "`*` and `**` stand for whole segments; name the rest in full".to_owned()
            }
            Self::Form(_) => "use `*` for one segment and `**` for any number".to_owned(),
            Self::Control => "write the name without control characters".to_owned(),
            Self::TooLong => "shorten it, or split the rule".to_owned(),
            Self::Relative => "start it with `/`, `~/` or `**/`".to_owned(),
            Self::Dots => "write the path as it is after resolving".to_owned(),
            Self::EmptySegment => "use single slashes and none at the end".to_owned(),
            Self::NameOrPath(_) => "write `cargo` or `/usr/bin/cargo`".to_owned(),
        }
    }
}

fn check_text(text: &str) -> Result<(), PatternError> {
    if text.is_empty() {
        return Err(PatternError::Empty);
    }
    if text.len() > LONGEST {
        return Err(PatternError::TooLong);
    }
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(PatternError::Control);
    }
    Ok(())
}

/// Forms of other pattern languages, which a person may expect to work.
fn check_forms(text: &str) -> Result<(), PatternError> {
    match text
        .chars()
        .find(|character| matches!(character, '?' | '[' | ']' | '{' | '}' | '\\' | '!'))
    {
        Some(form) => Err(PatternError::Form(form)),
        None => Ok(()),
    }
}

/// Serialises a pattern as the text it was read from, and reads it back through its parser.
macro_rules! pattern_as_text {
    ($name:ident, $parse:path) => {
        impl TryFrom<String> for $name {
            type Error = PatternError;

            fn try_from(text: String) -> Result<Self, PatternError> {
                $parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(pattern: $name) -> Self {
                pattern.to_string()
            }
        }
    };
}

/// A pattern over absolute paths: of files, or of URLs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathPattern {
    glob: Glob,
}

pattern_as_text!(PathPattern, PathPattern::parse);

impl PathPattern {
    /// Reads `/usr/bin/*`, `/etc/**` or `**/.git/hooks/**` (at any depth).
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        check_text(text)?;
        check_forms(text)?;
        let segments = match text.strip_prefix('/') {
            Some("") => return Ok(Self { glob: Glob::default() }),
            Some(segments) => segments,
            None if text == "**" || text.starts_with("**/") => text,
            None => return Err(PatternError::Relative),
        };
        Ok(Self { glob: Glob::parse(segments.split('/'), path_segment)? })
    }

    /// Reads a pattern in which a leading `~` stands for `home`.
    pub fn parse_in_home(text: &str, home: &Path) -> Result<Self, PatternError> {
        match (text.strip_prefix('~'), home.to_str()) {
            (Some(""), Some(home)) => Self::parse(home),
            (Some(rest), Some(home)) if rest.starts_with('/') => {
                Self::parse(&format!("{}{rest}", home.trim_end_matches('/')))
            }
            _ => Self::parse(text),
        }
    }

    /// Whether the absolute, plain path `path` (its bytes) matches.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        self.glob.matches(segments_of(path))
    }

    /// Whether everything that `other` matches is matched by this pattern too. It may say no to a
    /// pair that is covered, never yes to one that isn't.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.glob.covers(&other.glob)
    }

    /// Whether something strictly below `path` is named by this pattern before its first wildcard.
    #[must_use]
    pub(crate) fn starts_below(&self, path: &[u8]) -> bool {
        let mut literal = self.glob.literal_start().peekable();
        let inside = segments_of(path).all(|name| literal.next() == Some(name));
        inside && literal.peek().is_some()
    }

    /// Whether it could match something at or below `path`. It may say yes where nothing does.
    #[must_use]
    pub fn may_match_below(&self, path: &[u8]) -> bool {
        let mut names = segments_of(path);
        self.glob.literal_start().all(|literal| names.next().is_none_or(|name| name == literal))
    }

    pub(crate) fn glob(&self) -> &Glob {
        &self.glob
    }
}

fn path_segment(segment: &str) -> Result<(), PatternError> {
    match segment {
        "" => Err(PatternError::EmptySegment),
        "." | ".." => Err(PatternError::Dots),
        _ => Ok(()),
    }
}

/// The names of an absolute path; none for `/`.
pub(crate) fn segments_of(path: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let names = path.strip_prefix(b"/").unwrap_or(path);
    names.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.glob.starts_anywhere() {
            f.write_str("/")?;
        }
        self.glob.write(f, "/")
    }
}

/// A pattern over programs: a file name in any directory, or an absolute path.
///
/// It is matched with the file that is executed, after every link was followed. Rules that ask or
/// deny are also matched with the links themselves and with the name that the program is started
/// under, because `npm` is a link to `npm-cli.js`, `sh` one to `dash`, and `cargo` one to `rustup`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ProgramPattern {
    /// Any program.
    Any,
    /// A file of this name, wherever it is.
    Name(String),
    /// A file of such a path.
    Path(PathPattern),
}

pattern_as_text!(ProgramPattern, ProgramPattern::parse);

impl ProgramPattern {
    /// Reads `cargo`, `/usr/bin/cargo`, `/opt/*/bin/*`, `**/target/debug/*` or `*` (any program).
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        match text {
            "*" | "**" => Ok(Self::Any),
            _ if text.starts_with('/') || text.starts_with("**/") => {
                PathPattern::parse(text).map(Self::Path)
            }
            _ => Self::name(text),
        }
    }

    /// Reads a pattern in which a leading `~/` stands for `home`.
    pub fn parse_in_home(text: &str, home: &Path) -> Result<Self, PatternError> {
        if text.starts_with("~/") {
            return PathPattern::parse_in_home(text, home).map(Self::Path);
        }
        Self::parse(text)
    }

    fn name(text: &str) -> Result<Self, PatternError> {
        check_text(text)?;
        check_forms(text)?;
        match text {
            "." | ".." => Err(PatternError::Dots),
            _ if text.contains('/') => Err(PatternError::NameOrPath(text.to_owned())),
            _ if text.contains('*') => Err(PatternError::Mixed(text.to_owned())),
            _ => Ok(Self::Name(text.to_owned())),
        }
    }

    /// Whether the absolute, plain path `program` (its bytes) matches.
    #[must_use]
    pub fn matches(&self, program: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Name(name) => file_name(program) == name.as_bytes(),
            Self::Path(pattern) => pattern.matches(program),
        }
    }
}

/// What follows the last slash.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

impl fmt::Display for ProgramPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Name(name) => f.write_str(name),
            Self::Path(pattern) => pattern.fmt(f),
        }
    }
}

/// A pattern over an argument list, without the program itself. An empty list means no arguments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct ArgsPattern {
    glob: Glob,
}

impl ArgsPattern {
    /// Reads `["publish", "**"]`: each element an argument, `*` any one, `**` any number.
    pub fn parse<'a>(args: impl IntoIterator<Item = &'a str>) -> Result<Self, PatternError> {
        Ok(Self { glob: Glob::parse(args, |_| Ok(()))? })
    }

    /// Whether the arguments match.
    pub fn matches(&self, args: &[String]) -> bool {
        self.glob.matches(args.iter().map(String::as_bytes))
    }
}

impl TryFrom<Vec<String>> for ArgsPattern {
    type Error = PatternError;

    fn try_from(args: Vec<String>) -> Result<Self, PatternError> {
        Self::parse(args.iter().map(String::as_str))
    }
}

impl From<ArgsPattern> for Vec<String> {
    fn from(pattern: ArgsPattern) -> Self {
        pattern.glob.segments().iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for ArgsPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.glob.write(f, " ")
    }
}

/// A pattern over words joined by slashes: Git references, repositories, images, tools, leases.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WordPattern {
    glob: Glob,
}

pattern_as_text!(WordPattern, WordPattern::parse);

impl WordPattern {
    /// Reads `refs/heads/loop/**`, `github.com/*/site`, `bash` or `*`.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        check_text(text)?;
        check_forms(text)?;
        Ok(Self { glob: Glob::parse(text.split('/'), path_segment)? })
    }

    /// Whether `word` matches, segment by segment.
    #[must_use]
    pub fn matches(&self, word: &str) -> bool {
        self.glob.matches(word.split('/').map(str::as_bytes))
    }

    /// The same, whatever the case, and without what file systems ignore.
    #[must_use]
    pub(crate) fn matches_folded(&self, word: &str) -> bool {
        self.glob.matches_folded(word.split('/').map(str::as_bytes))
    }

    /// As [`PathPattern::covers`].
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.glob.covers(&other.glob)
    }
}

impl fmt::Display for WordPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.glob.write(f, "/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> PathPattern {
        PathPattern::parse(text).unwrap()
    }

    #[test]
    fn paths() {
        let yes = [
            ("/", "/"),
            ("/a", "/a"),
            ("/a/*", "/a/b"),
            ("/a/**", "/a"),
            ("/a/**", "/a/b/c"),
            ("/**/c", "/c"),
            ("**/.git/hooks/**", "/home/x/vendor/sub/.git/hooks/pre-commit"),
            ("/a/**/b/**/c", "/a/b/b/x/c"),
        ];
        for (pattern, text) in yes {
            assert!(path(pattern).matches(text.as_bytes()), "{pattern} {text}");
        }
        let no = [
            ("/", "/a"),
            ("/a", "/"),
            ("/a", "/a/b"),
            ("/a/*", "/a"),
            ("/a/*", "/a/b/c"),
            ("/a/**/c", "/a/b"),
            ("**/.git/hooks/**", "/x/.git/hook"),
        ];
        for (pattern, text) in no {
            assert!(!path(pattern).matches(text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn unsupported_forms_are_errors() {
        let bad = [
            "", "a", "./a", "~x/a", "/a/../b", "/a/.", "/a//b", "/a/", "/a/*.rs", "/a/b*",
            "/a/***", "/a/[bc]", "/a/{b,c}", "/a/b?", "/a/!b", "/a\\*", "/a\nb", "**x/a",
        ];
        for text in bad {
            assert!(PathPattern::parse(text).is_err(), "{text:?}");
        }
        for text in ["", "a/b", "./a", "car*", "..", "c?", "**/"] {
            assert!(ProgramPattern::parse(text).is_err(), "{text:?}");
        }
        assert!(ArgsPattern::parse(["--file=*"]).is_err());
        assert!(PathPattern::parse(&format!("/{}", "a/".repeat(200) + "b")).is_err());
    }

    #[test]
    fn text_comes_back() {
        for text in ["/", "/a/*/b/**", "**", "**/x", "/**"] {
            let pattern = path(text);
            assert_eq!(path(&pattern.to_string()), pattern, "{text}");
        }
    }

    #[test]
    fn programs() {
        let cargo = ProgramPattern::parse("cargo").unwrap();
        assert!(cargo.matches(b"/usr/bin/cargo"));
        assert!(!cargo.matches(b"/usr/bin/cargo-x"));
        assert!(ProgramPattern::parse("/usr/*/cargo").unwrap().matches(b"/usr/bin/cargo"));
        assert!(ProgramPattern::parse("*").unwrap().matches(b"/x"));
        let home = ProgramPattern::parse_in_home("~/bin/*", Path::new("/home/ann")).unwrap();
        assert!(home.matches(b"/home/ann/bin/tool"));
    }

    #[test]
    fn arguments() {
        let args = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let publish = ArgsPattern::parse(["publish", "**"]).unwrap();
        assert!(publish.matches(&args(&["publish"])));
        assert!(publish.matches(&args(&["publish", "--dry-run", "a b"])));
        assert!(!publish.matches(&args(&["--quiet", "publish"])));
        assert!(ArgsPattern::parse([]).unwrap().matches(&[]));
        assert!(!ArgsPattern::parse([]).unwrap().matches(&args(&["x"])));
        assert!(ArgsPattern::parse([""]).unwrap().matches(&args(&[""])));
    }

    #[test]
    fn starts_below() {
        assert!(path("/run/**").starts_below(b"/"));
        assert!(path("/home/a/.ssh/**").starts_below(b"/home/a"));
        assert!(!path("/home/a/.ssh/**").starts_below(b"/home/a/.ssh"));
        assert!(!path("/home/a/.ssh").starts_below(b"/home/b"));
        assert!(!path("**/x").starts_below(b"/"));
    }
}
