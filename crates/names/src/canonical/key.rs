//! The order of object members: by UTF-16 code units (RFC 8785 section 3.2.3).

use std::cmp::Ordering;

/// Compares two keys as they are spelled in canonical JSON, between their quotes.
///
/// Bytes order as UTF-16 code units do, unless the first difference is in an escape or is between
/// U+E000 to U+FFFF and what UTF-16 writes with surrogates.
pub(super) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    let Some(at) = left.iter().zip(right).position(|(left, right)| left != right) else {
        return left.len().cmp(&right.len());
    };
    let head = |key: &[u8]| key.get(..=at).is_none_or(|head| head.contains(&b'\\'));
    let (one, other) = (left.get(at), right.get(at));
    let is_high = |byte: Option<&u8>| byte.is_some_and(|byte| *byte >= 0xee);
    if head(left) || head(right) || is_high(one) && is_high(other) {
        return units(left).cmp(units(right));
    }
    one.cmp(&other)
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
