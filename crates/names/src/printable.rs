//! Hostile bytes, made safe to look at.

use std::fmt::Write as _;

/// Text for one line of a terminal: control characters, characters that show nothing or turn the
/// writing direction, and bytes that are not UTF-8 become escapes (`\n`, `\x1b`, `\u{202e}`).
///
/// For people only: a backslash stays as it is, so the original can't be told from the result.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    escape(bytes, |_| false)
}

/// As [`printable`], but line feeds and tabs stay: for file contents and command output.
#[must_use]
pub fn printable_lines(bytes: &[u8]) -> String {
    escape(bytes, |c| matches!(c, '\n' | '\t'))
}

fn escape(bytes: &[u8], keep: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if keep(c) || !(c.is_control() || is_invisible(c)) {
                out.push(c);
            } else {
                escape_char(&mut out, c);
            }
        }
        for byte in chunk.invalid() {
            escape_byte(&mut out, *byte);
        }
    }
    out
}

fn escape_char(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..='\x7f' => escape_byte(out, c as u8),
        _ => {
            // Writing to a String has no error.
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        }
    }
}

fn escape_byte(out: &mut String, byte: u8) {
    let _ = write!(out, "\\x{byte:02x}");
}

/// Is this a character that shows nothing, or that changes the order in which its neighbours
/// show? Control characters, white space and the emoji selectors U+FE0E and U+FE0F are not meant.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'     // zero width, left-to-right and right-to-left marks
        | '\u{2028}'..='\u{202e}'     // line and paragraph separators, embeddings, overrides
        | '\u{2060}'..='\u{206f}'     // joiners, invisible operators, isolates
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fe00}'..='\u{fe0d}'     // variation selectors
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}') // tags and more variation selectors
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes() {
        let cases: [(&[u8], &str); 9] = [
            (b"plain \\ text", "plain \\ text"),
            (b"\x1b[31mred", "\\x1b[31mred"),
            (b"a\nb\tc\rd\0e\x7f", "a\\nb\\tc\\rd\\x00e\\x7f"),
            ("\u{202e}gpj.exe".as_bytes(), "\\u{202e}gpj.exe"),
            ("\u{9b}31m".as_bytes(), "\\u{9b}31m"),
            ("a\u{200b}b\u{feff}".as_bytes(), "a\\u{200b}b\\u{feff}"),
            ("\u{e0041}".as_bytes(), "\\u{e0041}"),
            (b"\xff\xfe ok", "\\xff\\xfe ok"),
            ("grün 日本 👍".as_bytes(), "grün 日本 👍"),
        ];
        for (given, shown) in cases {
            assert_eq!(printable(given), shown);
        }
        assert_eq!(printable_lines(b"a\n\tb\r\x1b"), "a\n\tb\\r\\x1b");
    }

    proptest! {
        #[test]
        fn result_is_inert(bytes: Vec<u8>) {
            let inert = |c: char| !c.is_control() && !is_invisible(c);
            prop_assert!(printable(&bytes).chars().all(inert));
        }
    }
}
