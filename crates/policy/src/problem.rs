//! Everything that can be wrong with a profile, in words a person can act on.

use std::collections::HashSet;
use std::fmt;

use names::NameError;

use crate::action::ActionError;
use crate::lease::TermsError;
use crate::pattern::PatternError;
use crate::rule::{Method, Origin, Outcome};
use crate::settings::{Shape, Within};

/// One thing wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {}{problem}", key_prefix(.origin))]
pub struct ProfileError {
    /// The file, line and key.
    pub origin: Origin,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

fn key_prefix(origin: &Origin) -> String {
    if origin.key.is_empty() { String::new() } else { format!("{}: ", origin.key) }
}

impl ProfileError {
    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> String {
        self.problem.fix()
    }
}

/// Everything wrong with a request's profiles, in the order of files and lines. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileErrors {
    errors: Vec<ProfileError>,
}

impl ProfileErrors {
    /// `None` if there is nothing wrong.
    pub(crate) fn of(mut errors: Vec<ProfileError>) -> Option<Self> {
        let mut told = HashSet::new();
        errors.retain(|error| told.insert((error.origin.clone(), error.problem.to_string())));
        errors.sort_by(|one, other| {
            (&one.origin.source, one.origin.line).cmp(&(&other.origin.source, other.origin.line))
        });
        (!errors.is_empty()).then_some(Self { errors })
    }

    /// Each of them.
    #[must_use]
    pub fn errors(&self) -> &[ProfileError] {
        &self.errors
    }
}

impl std::error::Error for ProfileErrors {}

/// A line for each problem, with the fix in the next.
impl fmt::Display for ProfileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let between = if index == 0 { "" } else { "\n" };
            write!(f, "{between}{error}\n  fix: {}", error.fix())?;
        }
        Ok(())
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Not TOML.
    #[error("{0}")]
    Syntax(String),
    /// Over the cap.
    #[error("the file is longer than {cap} bytes")]
    TooLong {
        /// The cap.
        cap: usize,
    },
    /// A section that doesn't exist.
    #[error("there is no such section")]
    UnknownSection {
        /// The most similar one.
        near: Option<&'static str>,
    },
    /// A key that doesn't exist.
    #[error("there is no such key in {section}")]
    UnknownKey {
        /// The section's head.
        section: String,
        /// The most similar key.
        near: Option<&'static str>,
        /// All keys.
        keys: Vec<&'static str>,
    },
    /// `[x]` and `[[x]]` taken for each other.
    #[error("the section is not written {head}")]
    WrongHead {
        /// How it is written.
        head: String,
    },
    /// A value of another type.
    #[error("the value is {found}, not {wanted}")]
    WrongType {
        /// What it must be.
        wanted: Shape,
        /// What TOML calls it.
        found: String,
    },
    /// A section or key that belongs into another file.
    #[error("this can't stand in {layer}")]
    WrongFile {
        /// The file it is in.
        layer: &'static str,
        /// Where it belongs.
        within: Within,
    },
    /// A key that must be there.
    #[error("the section {section} lacks it")]
    Missing {
        /// The section's head.
        section: String,
        /// What it means.
        meaning: &'static str,
    },
    /// A word that isn't one of those that are known.
    #[error("`{given}` is not one of the words that can stand here")]
    UnknownWord {
        /// The word.
        given: String,
        /// The most similar one.
        near: Option<&'static str>,
        /// All words.
        words: Vec<&'static str>,
    },
    /// A host, port, size, span or name that isn't one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A pattern that isn't one.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// An expected action that isn't one.
    #[error(transparent)]
    Action(#[from] ActionError),
    /// A number out of range.
    #[error("{given} is not between {least} and {most}")]
    OutOfRange {
        /// What was given.
        given: String,
        /// The least that can be enforced.
        least: String,
        /// The most.
        most: String,
    },
    /// A path that is relative, or not plain.
    #[error("`{0}` is not an absolute, plain path")]
    NotAPath(String),
    /// A wildcard where a path must be one path.
    #[error("a path of {0} can't hold wildcards")]
    NoWildcards(&'static str),
    /// No address, range, or address with port.
    #[error("`{given}` is not {wanted}")]
    NotAnAddress {
        /// What was given.
        given: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// An address that isn't public.
    #[error("`{given}` is a {class} address")]
    PrivateAddress {
        /// The address.
        given: String,
        /// Its class.
        class: String,
    },
    /// A name that isn't a variable's.
    #[error("`{0}` is not the name of an environment variable")]
    NotAVariable(String),
    /// A value that no environment can hold.
    #[error("the value holds a NUL character")]
    NulInValue,
    /// `*` among variables.
    #[error("`*` would pass every variable, secrets included")]
    PassEverything,
    /// A variable that is denied.
    #[error("`{name}` is never passed, {by}")]
    PassDenied {
        /// The pattern.
        name: String,
        /// What denies it.
        by: Origin,
    },
    /// A variable that is both.
    #[error("`{0}` is passed and set in one file")]
    PassAndSet(String),
    /// A key of a rule or an expectation that says nothing about its action.
    #[error("it means nothing for the action {action}")]
    Meaningless {
        /// The action.
        action: String,
        /// What can be said.
        keys: Vec<&'static str>,
    },
    /// A rule that can't match.
    #[error("with an empty list the rule matches nothing")]
    MatchesNothing,
    /// A verdict that can't be upheld for an action.
    #[error("a mount is allowed or denied while the profile is loaded; nobody can be asked")]
    AskAboutMount,
    /// A rule that would do nothing.
    #[error("no rule publishes a port; --publish does, for one run")]
    AllowPublish,
    /// The name of a rule that isn't one.
    #[error("`{0}` is not a rule's name")]
    NotARuleName(String),
    /// Two rules of one name in one file.
    #[error("another rule has the name `{id}`, {other}")]
    SameName {
        /// The name.
        id: String,
        /// The other one.
        other: Origin,
    },
    /// Two things of one file that can't both hold.
    #[error("it says {own}, and {other} says {others} about the same")]
    Contradiction {
        /// What it says.
        own: String,
        /// The other one.
        other: Origin,
        /// What that says.
        others: String,
    },
    /// A default that a file makes looser.
    #[error("{given} is looser than {held}, which {by} says")]
    LooserDefault {
        /// What was given.
        given: Outcome,
        /// What holds.
        held: Outcome,
        /// Where.
        by: Origin,
    },
    /// A profile that doesn't exist.
    #[error("there is no profile `{given}`")]
    UnknownProfile {
        /// Its name.
        given: String,
        /// The most similar built-in one.
        near: Option<&'static str>,
    },
    /// A profile that couldn't be read.
    #[error("the profile `{name}` can't be read: {why}")]
    Unreadable {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// Profiles that extend each other.
    #[error("the profiles extend each other: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    /// Too many profiles that extend each other.
    #[error("more than {0} profiles extend each other")]
    TooDeep(usize),
    /// A file that takes a built-in profile's name.
    #[error("`{0}` is the name of a built-in profile")]
    BuiltInName(String),
    /// A name that isn't a profile's.
    #[error("`{0}` is not a profile's name")]
    NotAProfileName(String),
    /// A name that isn't a lease's.
    #[error("`{0}` is not a lease's name")]
    NotALeaseName(String),
    /// A lease that nobody added.
    #[error("there is no lease `{0}`")]
    UnknownLease(String),
    /// A lease whose terms couldn't be read.
    #[error("the lease `{name}` can't be read: {why}")]
    LeaseUnreadable {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// A lease that is asked for where it may not go.
    #[error("nothing of it is within the terms of the lease `{name}`, {terms}")]
    LeaseWidens {
        /// Its name.
        name: String,
        /// Where it may go.
        terms: String,
    },
    /// Two leases in one variable.
    #[error("the variable {variable} holds the placeholder of the lease `{other}` already")]
    SharedVariable {
        /// The variable.
        variable: String,
        /// The other lease.
        other: String,
    },
    /// A part of a lease that isn't one.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// A file that has another name inside.
    #[error("the file says it is `{says}`, but it is looked up as `{looked_up}`")]
    OtherName {
        /// Inside.
        says: String,
        /// Outside.
        looked_up: String,
    },
    /// A mount that a rule denies.
    #[error("the mount {mount} is denied: {reason}")]
    MountDenied {
        /// The path.
        mount: String,
        /// The verdict's reason.
        reason: String,
        /// The rule.
        by: String,
        /// Whether the rule can be changed.
        pinned: bool,
    },
    /// A flag that would widen what the profile leaves open.
    #[error("{given} is more than the profile leaves open, {held}")]
    FlagWidens {
        /// What was given.
        given: String,
        /// What holds.
        held: String,
        /// Where that was written.
        by: Option<Origin>,
    },
    /// A self-test that fails.
    #[error("{action} was expected to be {expected}, but it is {found}: {reason}")]
    Unexpected {
        /// The action.
        action: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
        /// The verdict's reason.
        reason: String,
    },
}

impl Problem {
    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> String {
        match self {
            Self::Syntax(_) => "write TOML; strings stand in double quotes".to_owned(),
            Self::TooLong { .. } => "split it into profiles that extend each other".to_owned(),
            Self::UnknownSection { near: Some(near) }
            | Self::UnknownKey { near: Some(near), .. }
            | Self::UnknownWord { near: Some(near), .. }
            | Self::UnknownProfile { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownSection { near: None } => {
                let heads: Vec<_> = crate::settings::SECTIONS.iter().map(|s| s.name).collect();
                format!("use one of: {}", heads.join(", "))
            }
            Self::UnknownKey { keys, .. } => format!("use one of: {}", keys.join(", ")),
            Self::UnknownWord { words, .. } => format!("use one of: {}", words.join(", ")),
            Self::WrongHead { head } => format!("write {head}"),
            Self::WrongType { wanted, .. } => example_of(*wanted).to_owned(),
            Self::WrongFile { within, .. } => format!("move it to {within}"),
            Self::Missing { meaning, .. } => format!("add it: {meaning}"),
            Self::Name(error) => fix_of_name(error).to_owned(),
            Self::Pattern(error) => error.fix(),
            Self::Action(error) => error.fix(),
            Self::OutOfRange { least, most, .. } => {
                format!("write a value from {least} to {most}")
            }
            Self::NotAPath(_) => "start it with `/` or `~/`, without `.`, `..` and `//`".to_owned(),
            Self::NoWildcards(_) => "name one path, or the directory above".to_owned(),
            Self::NotAnAddress { .. } => "write it in canonical form".to_owned(),
            Self::PrivateAddress { .. } => format!("name it in {}", Within::Owner),
            Self::NotAVariable(_) => {
                "use letters, digits and `_`, not a digit first; in lists a `*` may end it"
                    .to_owned()
            }
            Self::NulInValue => "remove it".to_owned(),
            Self::PassEverything => "name the variables that are needed".to_owned(),
            Self::PassDenied { .. } => {
                "give it a value under [environment] set, if the run needs one".to_owned()
            }
            Self::PassAndSet(_) => "keep one of the two".to_owned(),
            Self::Meaningless { keys, .. } if keys.is_empty() => "remove it".to_owned(),
            Self::Meaningless { keys, .. } => {
                format!("remove it, or use one of: {}", keys.join(", "))
            }
            Self::MatchesNothing => "name what is meant, or leave the key out for all".to_owned(),
            Self::AskAboutMount => "write deny".to_owned(),
            Self::AllowPublish => "write ask or deny, or remove it".to_owned(),
            Self::NotARuleName(_) | Self::NotAProfileName(_) | Self::NotALeaseName(_) => {
                "use a-z, 0-9 and hyphens, at most 64".to_owned()
            }
            Self::SameName { .. } => "rename one of the two".to_owned(),
            Self::Contradiction { .. } => "remove one of the two, or make one narrower".to_owned(),
            Self::LooserDefault { .. } => {
                "leave it out, or allow what is needed by rules".to_owned()
            }
            Self::UnknownProfile { .. } => {
                format!("use a file's path, or one of: {}", crate::built_in_names().join(", "))
            }
            Self::Unreadable { .. } => "make the file readable, or name another".to_owned(),
            Self::Cycle(_) => "remove one `extends`".to_owned(),
            Self::TooDeep(_) => "merge some of them".to_owned(),
            Self::BuiltInName(_) => "give it another name, and let it extend that one".to_owned(),
            Self::UnknownLease(name) => {
                format!("add it: loop lease add {name} --host HOST --from …")
            }
            Self::LeaseUnreadable { name, .. } => {
                format!("add it again: loop lease revoke {name}, then loop lease add {name}")
            }
            Self::LeaseWidens { .. } => "keep within the terms, or leave the keys out".to_owned(),
            Self::SharedVariable { .. } => "name another with `env`".to_owned(),
            Self::Terms(error) => fix_of_terms(error),
            Self::OtherName { says, .. } => format!("rename the file to {says}.toml"),
            Self::MountDenied { pinned: true, .. } => {
                "leave it out; name the directories that are needed one by one".to_owned()
            }
            Self::MountDenied { by, .. } => format!("mount something else, or change {by}"),
            Self::FlagWidens { by: Some(by), .. } => format!("leave the flag out, or change {by}"),
            Self::FlagWidens { by: None, .. } => {
                "leave the flag out, or choose another profile".to_owned()
            }
            Self::Unexpected { .. } => "change the rules or the expectation".to_owned(),
        }
    }
}

/// What to write instead of a text that is no name of its kind.
pub(crate) fn fix_of_name(error: &NameError) -> &'static str {
    match error.kind() {
        _ if error.hint().is_some() => error.hint().unwrap_or_default(),
        "host" | "host pattern" => "name a public host, such as example.com",
        "ref" => "write a reference such as refs/heads/main, without what Git refuses",
        "port" => "write a number from 1 to 65535",
        _ => "correct it",
    }
}

fn fix_of_terms(error: &TermsError) -> String {
    match error {
        TermsError::Name(error) => fix_of_name(error).to_owned(),
        TermsError::Pattern(error) => error.fix(),
        TermsError::ManyHosts(_) | TermsError::Address(_) => "name one host".to_owned(),
        TermsError::ClearText => "name ports where the host takes TLS".to_owned(),
        TermsError::Header(_) => "name a header such as x-api-key or authorization".to_owned(),
        TermsError::Scheme(_) => "name one word, such as Bearer".to_owned(),
        TermsError::User(_) => {
            "name a user such as x-access-token, in ASCII, without `:`".to_owned()
        }
        TermsError::Method(_) => format!("use one of: {}", Method::WORDS.join(", ")),
        TermsError::Variable(_) => "use letters, digits and `_`, not a digit first".to_owned(),
        TermsError::Prefix(_) => "start it with `/`, without wildcards and escapes".to_owned(),
    }
}

fn example_of(shape: Shape) -> &'static str {
    match shape {
        Shape::Text => "write one string in double quotes",
        Shape::Switch => "write true or false, without quotes",
        Shape::Whole => "write a whole number: 512",
        Shape::Number => "write a number: 2.0",
        Shape::Texts => "write a list: [\"one\", \"two\"]",
        Shape::Wholes => "write a list: [443, 8443]",
        Shape::Map => "write a table: { NAME = \"value\" }",
    }
}
