//! Rust as words: names, literals and signs, without comments and layout. The Rust Reference,
//! "Lexical structure". What is no Rust is still read as something, and the same every time.

/// A word, and its line from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) line: u64,
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut words = Vec::new();
    while let Some(word) = lexer.next_word() {
        words.push(word);
    }
    words
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: u64,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> &'t str {
        let taken = self.rest().get(..length).unwrap_or_else(|| self.rest());
        self.at += taken.len();
        self.line += taken.matches('\n').count() as u64;
        taken
    }

    fn next_word(&mut self) -> Option<Word<'t>> {
        self.skip();
        let line = self.line;
        let rest = self.rest();
        let length = length(rest)?;
        Some(Word { text: self.take(length), line })
    }

    /// Skips blanks and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let length = if blank > 0 {
                blank
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                comment(rest)
            } else {
                return;
            };
            self.take(length);
        }
    }
}

/// The length of a comment that may hold others.
fn comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(pair) = bytes.get(at..at + 2) {
        match pair {
            b"/*" => (at, depth) = (at + 2, depth + 1),
            b"*/" => (at, depth) = (at + 2, depth.saturating_sub(1)),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of the word that a text begins with; none at its end.
fn length(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    Some(match first {
        '"' => string(text, 0),
        '\'' => quote(text),
        c if is_name(c) => match literal_prefix(text) {
            Some(length) => length,
            None => name(text),
        },
        c => c.len_utf8(),
    })
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn name(text: &str) -> usize {
    text.find(|c| !is_name(c)).unwrap_or(text.len())
}

/// `r"…"`, `br#"…"#`, `b"…"`, `c"…"`, `b'…'`; `r#name` is a name.
fn literal_prefix(text: &str) -> Option<usize> {
    let prefix = text.find(|c| !matches!(c, 'r' | 'b' | 'c')).filter(|at| (1..=2).contains(at))?;
    let (letters, rest) = text.split_at_checked(prefix)?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let inner = rest.get(hashes..)?;
    if letters.contains('r') && inner.starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let body = inner.get(1..)?;
        let found = body.find(&end).map_or(text.len(), |at| prefix + hashes + 1 + at + end.len());
        return Some(found);
    }
    match rest.chars().next() {
        Some('"') => Some(string(text, prefix)),
        Some('\'') if letters == "b" => Some(prefix + quote(rest)),
        Some('#') if letters == "r" => Some(prefix + 1 + name(rest.get(1..)?)),
        _ => None,
    }
}

/// The length up to the end of a string that begins at `start`.
fn string(text: &str, start: usize) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at <= start) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A character, or a lifetime.
fn quote(text: &str) -> usize {
    let mut after = text.char_indices().skip(1);
    match (after.next(), after.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let rest = text.get(at + escaped.len_utf8()..).unwrap_or_default();
            rest.find('\'').map_or(text.len(), |end| at + escaped.len_utf8() + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        (Some((_, c)), _) if is_name(c) => 1 + name(text.get(1..).unwrap_or_default()),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_of_rust() {
        assert_eq!(
            texts("fn a<'b>(c: &'b str) { /* x /* y */ } */ 'd'; '\\''; \"e\\\"}\" // f\n}"),
            [
                "fn",
                "a",
                "<",
                "'b",
                ">",
                "(",
                "c",
                ":",
                "&",
                "'b",
                "str",
                ")",
                "{",
                "'d'",
                ";",
                "'\\''",
                ";",
                "\"e\\\"}\"",
                "}"
            ]
        );
        assert_eq!(
            texts("r#\"a\"b\"# br\"\\\" r#fn b'x' b\"y\""),
            ["r#\"a\"b\"#", "br\"\\\"", "r#fn", "b'x'", "b\"y\""]
        );
        assert_eq!(words("a\n\nb /*\n*/ c").iter().map(|w| w.line).collect::<Vec<_>>(), [1, 3, 4]);
    }

    #[test]
    fn what_is_no_rust_is_read_to_its_end() {
        for text in ["\"", "'", "r#\"", "/*", "b'", "'\\", "r#", "é'ß", "\u{1f980}'"] {
            assert!(texts(text).concat().len() <= text.len(), "{text}");
        }
    }
}
