//! Rust source without its comments and the contents of its strings: enough of a lexer to look for a keyword.

/// The same text with comments, strings and characters blanked out; lines stay where they are.
pub(super) fn only(source: &str) -> String {
    let mut rest = source;
    let mut code = String::with_capacity(source.len());
    let mut last = ' ';
    while let Some(character) = rest.chars().next() {
        let length = if is_word(last) { 0 } else { literal(rest) };
        let length = if length == 0 { comment_or_text(rest) } else { length };
        let (skipped, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if skipped.is_empty() {
            code.push(character);
            last = character;
            rest = rest.get(character.len_utf8()..).unwrap_or("");
        } else {
            code.extend(
                skipped.chars().map(|character| if character == '\n' { '\n' } else { ' ' }),
            );
            last = ' ';
            rest = after;
        }
    }
    code
}

/// Whether the code has this word.
pub(super) fn has_word(code: &str, word: &str) -> bool {
    code.split(|character| !is_word(character)).any(|found| found == word)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Length of a prefixed literal here (`r"…"`, `br#"…"#`, `b"…"`, `c"…"`, `b'…'`), or 0.
fn literal(text: &str) -> usize {
    let unprefixed = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - unprefixed.len();
    if prefix > 1 {
        return 0;
    }
    let inner = match unprefixed.strip_prefix('r') {
        Some(raw) => raw_string(raw).map(|length| length + 1),
        None if prefix == 1 => Some(comment_or_text(unprefixed))
            .filter(|length| *length > 0 && !unprefixed.starts_with('/')),
        None => None,
    };
    inner.map_or(0, |length| prefix + length)
}

/// Length of `#"…"#` with any number of `#`, if that is what is here.
fn raw_string(text: &str) -> Option<usize> {
    let marks = text.len() - text.trim_start_matches('#').len();
    let body = text.get(marks..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(marks + 1 + length)
}

/// Length of the comment, string or character that starts here, or 0.
fn comment_or_text(text: &str) -> usize {
    if text.starts_with("//") {
        text.find('\n').unwrap_or(text.len())
    } else if text.starts_with("/*") {
        block_comment(text)
    } else if text.starts_with('"') {
        quoted(text, '"')
    } else if text.starts_with('\'') && is_character(text) {
        quoted(text, '\'')
    } else {
        0
    }
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Tells a character (`'a'`, `'\n'`) from a lifetime (`'a`).
fn is_character(text: &str) -> bool {
    let mut characters = text.chars().skip(1);
    match characters.next() {
        Some('\\') => true,
        Some(_) => characters.next() == Some('\''),
        None => false,
    }
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            found if found == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_code(source: &str) -> bool {
        has_word(&only(source), "unsafe")
    }

    #[test]
    fn a_keyword_is_found_in_code() {
        for source in [
            "unsafe { x() }",
            "let a = 'a'; unsafe fn f() {}",
            "fn f<'a>(x: &'a str) { unsafe {} }",
            "\"text\" unsafe",
            "r\"x\\\" unsafe",
            "/* a /* b */ c */ unsafe",
            "b'\\'' unsafe",
            "'\"' unsafe '\"'",
        ] {
            assert!(is_code(source), "{source}");
        }
    }

    #[test]
    fn a_keyword_is_not_found_elsewhere() {
        for source in [
            "// unsafe",
            "/* unsafe */",
            "/* /* */ unsafe */",
            "\"unsafe\"",
            "\"\\\" unsafe\"",
            "r#\"\" unsafe\"#",
            "br#\"unsafe\"#",
            "c\"unsafe\"",
            "unsafe_code",
            "let not_unsafe = 1;",
            "b\"unsafe\"",
        ] {
            assert!(!is_code(source), "{source}");
        }
    }

    #[test]
    fn lines_stay_where_they_are() {
        assert_eq!(only("a /* x\ny */ b\n").lines().count(), 2);
    }
}
