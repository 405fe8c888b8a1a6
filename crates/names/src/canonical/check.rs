//! Is a text canonical JSON, and what are its members? One pass, no allocation of its own.

use std::cmp::Ordering;

use super::{CanonicalError, MAX_DEPTH, key};

type Checked<T> = Result<T, CanonicalError>;

/// A member of an object, as it is spelled in canonical JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its key, without the quotes around it.
    pub key: &'a [u8],
    /// Its value, canonical JSON.
    pub value: &'a [u8],
}

/// Is `text` exactly the canonical JSON of some value: what [`super::to_vec`] would write?
pub fn check(text: &[u8]) -> Result<(), CanonicalError> {
    check_members(text, |_| {})
}

/// The same, and shows each member of the value on the way, if it is an object. They are those of
/// canonical JSON only if all of it is.
pub fn check_members<'a>(
    text: &'a [u8],
    each: impl FnMut(Member<'a>),
) -> Result<(), CanonicalError> {
    // Most texts are, and it is told faster.
    if !text.is_ascii()
        && let Err(error) = str::from_utf8(text)
    {
        return Err(CanonicalError::Form { at: error.valid_up_to(), why: "is not UTF-8" });
    }
    let mut scan = Scan { text, at: 0 };
    match scan.peek() {
        Some(b'{') => scan.object(0, each)?,
        _ => scan.value(0)?,
    }
    if scan.at == text.len() { Ok(()) } else { Err(scan.fault("something follows the value")) }
}

/// A position in a text that is UTF-8.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn fault(&self, why: &'static str) -> CanonicalError {
        CanonicalError::Form { at: self.at, why }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Steps over `byte` if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8, why: &'static str) -> Checked<()> {
        if self.take(byte) { Ok(()) } else { Err(self.fault(why)) }
    }

    fn value(&mut self, depth: usize) -> Checked<()> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => self.object(depth, |_| {}),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err(self.fault("a value is expected")),
        }
    }

    fn word(&mut self, word: &[u8]) -> Checked<()> {
        if !self.rest().starts_with(word) {
            return Err(self.fault("a value is expected"));
        }
        self.at += word.len();
        Ok(())
    }

    fn open(&mut self, depth: usize) -> Checked<usize> {
        if depth >= MAX_DEPTH {
            return Err(CanonicalError::Depth);
        }
        self.at += 1;
        Ok(depth + 1)
    }

    fn array(&mut self, depth: usize) -> Checked<()> {
        let depth = self.open(depth)?;
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.value(depth)?;
            if !self.take(b',') {
                return self.expect(b']', "',' or ']' is expected");
            }
        }
    }

    fn object(&mut self, depth: usize, mut each: impl FnMut(Member<'a>)) -> Checked<()> {
        let depth = self.open(depth)?;
        if self.take(b'}') {
            return Ok(());
        }
        let mut last = None;
        loop {
            let member = self.member(last, depth)?;
            last = Some(member.key);
            each(member);
            if !self.take(b',') {
                return self.expect(b'}', "',' or '}' is expected");
            }
        }
    }

    /// A member whose key has to come after `last`.
    fn member(&mut self, last: Option<&[u8]>, depth: usize) -> Checked<Member<'a>> {
        let at = self.at;
        let key = self.string()?;
        let why = match last.map_or(Ordering::Less, |last| key::compare(last, key)) {
            Ordering::Less => None,
            Ordering::Equal => Some("a member appears twice"),
            Ordering::Greater => Some("members are not in order"),
        };
        if let Some(why) = why {
            return Err(CanonicalError::Form { at, why });
        }
        self.expect(b':', "':' is expected")?;
        let start = self.at;
        self.value(depth)?;
        Ok(Member { key, value: self.text.get(start..self.at).unwrap_or_default() })
    }

    /// A string; returns it as it is spelled, without its quotes.
    fn string(&mut self) -> Checked<&'a [u8]> {
        self.expect(b'"', "a string is expected")?;
        let start = self.at;
        loop {
            self.at += plain_prefix(self.rest());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.fault("a control character is not escaped")),
                None => return Err(self.fault("a string does not end")),
            }
        }
        let spelled = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        Ok(spelled)
    }

    fn escape(&mut self) -> Checked<()> {
        let length = match self.rest() {
            [_, b'b' | b't' | b'n' | b'f' | b'r' | b'"' | b'\\', ..] => 2,
            // The control characters that have no short escape.
            [_, b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..] => 6,
            [_, b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => 6,
            _ => return Err(self.fault("an escape is not the canonical one")),
        };
        self.at += length;
        Ok(())
    }

    fn number(&mut self) -> Checked<()> {
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let rest = self.rest();
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let number = rest.get(..length).unwrap_or_default();
        if !is_small_integer(number) && !is_double(number) {
            return Err(self.fault("a number is not in its canonical form"));
        }
        self.at += length;
        Ok(())
    }
}

/// Up to 15 digits: every such integer is exact and written as it is.
fn is_small_integer(number: &[u8]) -> bool {
    match number.strip_prefix(b"-").unwrap_or(number) {
        [b'0'] => number.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.len() < 15 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Is this how ECMAScript writes the double that it denotes?
fn is_double(number: &[u8]) -> bool {
    let value = str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
    value.is_some_and(|value| {
        value.is_finite() && ryu_js::Buffer::new().format_finite(value).as_bytes() == number
    })
}

/// How many bytes from the start need no second look in a string: no quote, no backslash, no
/// control character.
fn plain_prefix(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (word, at) in words.iter().zip((0..).step_by(8)) {
        if let Some(first) = first_special(u64::from_le_bytes(*word)) {
            return at + first;
        }
    }
    let is_special = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    words.len() * 8 + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// The same for eight bytes at once, the first in the lowest lane; none if all are plain. A
/// subtraction that borrows sets the high bit of a byte's lane. It may set those of lanes above
/// it too, but a lower lane is the first.
fn first_special(word: u64) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    let below = |limit: u8, word: u64| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equals = |byte: u8| below(1, word ^ (ONES * u64::from(byte)));
    let special = (below(0x20, word) | equals(b'"') | equals(b'\\')) & HIGH;
    (special != 0).then(|| special.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Mostly those that end a prefix, and their neighbours.
    fn byte() -> impl Strategy<Value = u8> {
        prop_oneof![4 => 0x1eu8..0x24, 2 => 0x5bu8..0x5e, 3 => any::<u8>()]
    }

    proptest! {
        /// A byte at a time is the second implementation.
        #[test]
        fn the_plain_prefix_is_that_of_its_bytes(text in prop::collection::vec(byte(), 0..40)) {
            let is_plain = |byte: &&u8| **byte >= 0x20 && **byte != b'"' && **byte != b'\\';
            prop_assert_eq!(plain_prefix(&text), text.iter().take_while(is_plain).count());
        }
    }
}
