//! The order of object members: by UTF-16 code units (RFC 8785 section 3.2.3).

use std::cmp::Ordering;

/// Compares two keys as they are spelled in canonical JSON, between their quotes.
pub(super) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    if is_plain(left) && is_plain(right) { left.cmp(right) } else { units(left).cmp(units(right)) }
}

/// Do the bytes order as the UTF-16 code units do? Not with escapes, and not with U+E000 and
/// above, which UTF-16 puts after the surrogates of U+10000 and above.
fn is_plain(key: &[u8]) -> bool {
    !key.iter().any(|byte| *byte == b'\\' || *byte >= 0xee)
}

/// The code units of the unescaped key. Keys here are canonical, so a `\u` escape is a control
/// character and never a surrogate.
fn units(key: &[u8]) -> impl Iterator<Item = u16> {
    let text = str::from_utf8(key).unwrap_or_default();
    Unescaped(text.chars()).flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec())
}

struct Unescaped<'a>(std::str::Chars<'a>);

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self.0.next()? {
            '\\' => self.escape(),
            c => Some(c),
        }
    }
}

impl Unescaped<'_> {
    fn escape(&mut self) -> Option<char> {
        Some(match self.0.next()? {
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'f' => '\u{c}',
            'r' => '\r',
            'u' => {
                let mut code = 0;
                for _ in 0..4 {
                    code = code * 16 + self.0.next()?.to_digit(16)?;
                }
                char::from_u32(code)?
            }
            c => c,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_utf16() {
        // The members of the example in RFC 8785 section 3.2.3, in their order.
        let sorted = ["\\r", "1", "\u{80}", "ö", "€", "\u{1f600}", "\u{fb33}"];
        for pair in sorted.windows(2) {
            assert_eq!(compare(pair[0].as_bytes(), pair[1].as_bytes()), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare(b"", b"a"), Ordering::Less);
        assert_eq!(compare(b"\\\\", b"]"), Ordering::Less);
        assert_eq!(compare(b"\\u001f", b" "), Ordering::Less);
        assert_eq!(compare(b"\\\"", b"\\\""), Ordering::Equal);
    }
}
