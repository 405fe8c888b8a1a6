//! A Git ref.

use std::fmt;

use crate::NameError;
use crate::text::as_text;

const KIND: &str = "ref";

/// A full ref name such as `refs/heads/main`, after the rules of git-check-ref-format(1).
///
/// One level (`HEAD`) is not a ref here. Nothing is normalised: what differs in one byte is
/// another ref.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(String);

impl RefName {
    /// Reads a ref name.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        match fault(text) {
            Some(why) => Err(NameError::new(KIND, text, why)),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// Reads a ref name from the wire. Git allows bytes that are not UTF-8; Loop does not.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NameError> {
        let text =
            str::from_utf8(bytes).map_err(|_| NameError::new(KIND, bytes, "is not UTF-8"))?;
        Self::parse(text)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The branch, without `refs/heads/`.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        self.0.strip_prefix("refs/heads/")
    }

    /// The tag, without `refs/tags/`.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.0.strip_prefix("refs/tags/")
    }
}

fn fault(text: &str) -> Option<&'static str> {
    if text.bytes().any(|byte| byte.is_ascii_control() || b" ~^:?*[\\".contains(&byte)) {
        return Some("has a control character or one of space ~ ^ : ? * [ \\");
    }
    if text.contains("..") || text.contains("@{") {
        return Some("has '..' or '@{'");
    }
    if text.ends_with('.') {
        return Some("ends with a dot");
    }
    if !text.contains('/') {
        return Some("is not a full name such as refs/heads/main");
    }
    text.split('/').find_map(component_fault)
}

fn component_fault(component: &str) -> Option<&'static str> {
    if component.is_empty() {
        return Some("has an empty component");
    }
    if component.starts_with('.') {
        return Some("has a component that starts with a dot");
    }
    component.ends_with(".lock").then_some("has a component that ends with .lock")
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(RefName, KIND, RefName::parse);
