//! Values that do not print.

use std::fmt;

/// A value that shows as `[secret]` wherever it is formatted and has no serialisation.
///
/// It guards against the accident (a derived `Debug`, a log line, an error text), not against
/// code that calls [`Secret::expose`].
#[derive(Clone, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value. Every caller of this is a place to review.
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// The value, by consuming its wrapper.
    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shows() {
        let secret = Secret::new("canary".to_owned());
        assert_eq!(format!("{secret} {secret:?} {secret:#?}"), "[secret] [secret] [secret]");
        assert_eq!(secret.expose(), "canary");
    }
}
