//! Secrets in texts that came from outside, masked.
//!
//! A text that goes into a record, an error or a log may hold what somebody pasted or a server
//! echoed. [`redact`] masks what has the shape of a credential: keys of providers, tokens, private
//! keys, passwords in URLs, the value of an `Authorization` header. It is a net below the rule that
//! secrets are never put into texts, not a substitute: a secret without a shape passes through.
//!
//! The text is read once, from left to right: every rule looks at the word that stands here, and
//! what was looked at is not looked at again.

use std::borrow::Cow;

/// What stands in the place of a secret.
pub const MASK: &str = "[secret]";

/// Words that begin a credential, and the least number of characters that follow in one.
const PREFIXES: &[(&str, usize)] = &[
    // model providers
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("xai-", 20),
    ("gsk_", 20),
    ("hf_", 20),
    ("r8_", 20),
    ("AIza", 30),
    // clouds
    ("AKIA", 16),
    ("ASIA", 16),
    ("ya29.", 20),
    ("dop_v1_", 32),
    // forges and registries
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("npm_", 20),
    ("pypi-", 20),
    ("dckr_pat_", 20),
    ("cio", 32),
    // chat
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
];

/// The least length of each of the first two parts of a JWT.
const JWT_PART: usize = 10;

/// Longest label of a PEM block that is looked at.
const LONGEST_LABEL: usize = 64;

const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";

/// The text with every credential that can be told by its shape replaced by [`MASK`].
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    redact_with(text, &[])
}

/// The same, with `known` values masked wherever they stand. Values shorter than eight bytes are
/// not looked for: masking them would say what they are.
#[must_use]
pub fn redact_with<'t>(text: &'t str, known: &[&str]) -> Cow<'t, str> {
    let known: Vec<&str> = known.iter().copied().filter(|value| value.len() >= 8).collect();
    let mut reader = Reader { text, at: 0, copied: 0, out: None, known: &known, looks: 0 };
    reader.run();
    match reader.out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(text.get(reader.copied..).unwrap_or_default());
            Cow::Owned(out)
        }
    }
}

struct Reader<'t, 'k> {
    text: &'t str,
    at: usize,
    copied: usize,
    out: Option<String>,
    known: &'k [&'k str],
    /// Bytes looked at, for the test that the work is linear.
    looks: usize,
}

/// The bytes of which words, and the parts of tokens, are made.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

impl<'t> Reader<'t, '_> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// At a place where a word begins, or anywhere for values that are known.
    fn run(&mut self) {
        let mut before = b' ';
        while let Some(byte) = self.rest().bytes().next() {
            self.looks += 1;
            let found = self.known_here().or_else(|| match is_word(before) {
                true => None,
                false => self.secret_here(byte),
            });
            match found {
                Some((skip, length)) if length > 0 => {
                    self.pass(skip, length);
                    before = b'x';
                }
                Some((skip, _)) if skip > 0 => {
                    self.pass(skip, 0);
                    before = self.text.as_bytes().get(self.at - 1).copied().unwrap_or(b' ');
                }
                _ => {
                    before = byte;
                    self.at += self.rest().chars().next().map_or(1, char::len_utf8);
                }
            }
        }
    }

    fn known_here(&self) -> Option<(usize, usize)> {
        let rest = self.rest();
        let value = self.known.iter().filter(|value| rest.starts_with(**value));
        value.map(|value| value.len()).max().map(|length| (0, length))
    }

    /// Goes past the next `skip` bytes and replaces the `length` that follow. What is known is
    /// masked in the bytes that are passed, too, also where it reaches beyond them.
    fn pass(&mut self, skip: usize, length: usize) {
        let secret = self.at + skip;
        let end = secret + length;
        while let Some((start, known)) = self.known_before(secret) {
            let reach = if start + known > secret { end.max(start + known) } else { start + known };
            self.mask(start - self.at, reach - start);
        }
        match length {
            0 => self.at = self.at.max(end),
            _ if self.at >= end => {}
            _ => self.mask(secret - self.at, length),
        }
    }

    /// The first value that is known and begins before this place: where, and how long it is.
    fn known_before(&self, end: usize) -> Option<(usize, usize)> {
        let found = self.known.iter().filter_map(|value| {
            let reach = (end + value.len() - 1).min(self.text.len());
            let near = self.text.as_bytes().get(self.at..reach)?;
            let at = near.windows(value.len()).position(|window| window == value.as_bytes())?;
            Some((self.at + at, value.len()))
        });
        found.min_by_key(|(start, length)| (*start, usize::MAX - length))
    }

    /// Replaces `length` bytes that follow the next `skip`.
    fn mask(&mut self, skip: usize, length: usize) {
        let start = self.at + skip;
        let out = self.out.get_or_insert_with(String::new);
        out.push_str(self.text.get(self.copied..start).unwrap_or_default());
        out.push_str(MASK);
        self.at = start + length;
        self.copied = self.at;
    }

    /// How many bytes stay, and how many after them are secret; `(n, 0)` passes over `n` bytes.
    fn secret_here(&mut self, first: u8) -> Option<(usize, usize)> {
        if first == b'-' {
            return self.private_key();
        }
        if !first.is_ascii_alphanumeric() {
            return None;
        }
        let rest = self.rest();
        let word = rest.get(..words(rest))?;
        self.looks += word.len();
        // A value that is known may begin inside of the word.
        let pass = if self.known.is_empty() { Some((word.len(), 0)) } else { None };
        prefixed(rest)
            .or_else(|| self.jwt(word))
            .map(|length| (0, length))
            .or_else(|| self.authorization(word))
            .or_else(|| self.url(word))
            .or(pass)
    }

    /// The length of `eyJ….eyJ….SIGNATURE`, RFC 7519.
    fn jwt(&mut self, head: &str) -> Option<usize> {
        let rest = self.rest();
        let after = rest.get(head.len()..)?.strip_prefix('.')?;
        let body = after.get(..words(after))?;
        let signature = after.get(body.len()..)?.strip_prefix('.')?;
        let length = words(signature);
        self.looks += body.len() + length;
        let is_part = |part: &str| part.starts_with("eyJ") && part.len() >= JWT_PART;
        (is_part(head) && is_part(body)).then_some(head.len() + body.len() + 2 + length)
    }

    /// `Authorization: Bearer VALUE`, `x-api-key: VALUE`; what is masked is the value.
    fn authorization(&mut self, name: &str) -> Option<(usize, usize)> {
        const HEADERS: [&str; 5] =
            ["authorization", "proxy-authorization", "x-api-key", "api-key", "private-token"];
        if !HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header)) {
            return None;
        }
        let rest = self.rest();
        let after = rest.get(name.len()..)?;
        // As a header, as JSON, as an argument: `: `, `": "`, `=`.
        let gap = after.bytes().take_while(|byte| b"\"': =\t".contains(byte)).count();
        if gap == 0 || !after.get(..gap)?.contains([':', '=']) {
            return None;
        }
        let value = after.get(gap..)?;
        let scheme = scheme(value);
        let secret = value.get(scheme..)?;
        let length = secret.bytes().take_while(|byte| !b"\r\n\"' ,;".contains(byte)).count();
        self.looks += length;
        Some((name.len() + gap + scheme, length))
    }

    /// `https://user:PASSWORD@host`; what is masked is the password, or a user alone.
    fn url(&mut self, scheme: &str) -> Option<(usize, usize)> {
        let rest = self.rest();
        let scheme = scheme.len();
        let after = rest.get(scheme..)?.strip_prefix("://")?;
        let end = after.bytes().take_while(|byte| !b"/?# \t\r\n\"'<>".contains(byte)).count();
        self.looks += end;
        let (user, _) = after.get(..end)?.rsplit_once('@')?;
        let name = user.split_once(':').map_or(0, |(name, _)| name.len() + 1);
        Some((scheme + 3 + name, user.len() - name))
    }

    /// From `-----BEGIN … PRIVATE KEY-----` to its end, or to the end of the text.
    fn private_key(&mut self) -> Option<(usize, usize)> {
        let rest = self.rest();
        let label = rest.strip_prefix(KEY_BEGIN)?;
        let label =
            label.get(..label.bytes().take(LONGEST_LABEL).position(|byte| byte == b'-')?)?;
        if !label.ends_with("PRIVATE KEY") && !label.ends_with("PRIVATE KEY BLOCK") {
            return None;
        }
        let end = format!("{KEY_END}{label}-----");
        let length = rest.find(&end).map_or(rest.len(), |at| at + end.len());
        self.looks += length;
        Some((0, length))
    }
}

/// The length of a scheme and its space: `Bearer `.
fn scheme(value: &str) -> usize {
    let word = value.bytes().take_while(u8::is_ascii_alphabetic).count();
    let space = value.get(word..).unwrap_or_default();
    let spaces = space.bytes().take_while(|byte| *byte == b' ').count();
    let known = ["basic", "bearer", "token", "digest", "negotiate"];
    let is_scheme = value
        .get(..word)
        .is_some_and(|word| known.iter().any(|scheme| word.eq_ignore_ascii_case(scheme)));
    if spaces > 0 && is_scheme { word + spaces } else { 0 }
}

/// How many bytes of words the text starts with.
fn words(text: &str) -> usize {
    text.bytes().take_while(|byte| is_word(*byte)).count()
}

/// The length of a key that starts with one of the known prefixes.
fn prefixed(text: &str) -> Option<usize> {
    let (prefix, least) = PREFIXES.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    let body = text.get(prefix.len()..)?;
    let body = body.get(..words(body))?;
    // A key is not a word of a language: it has a digit, or letters of both cases.
    let digit = body.bytes().any(|byte| byte.is_ascii_digit());
    let both = body.bytes().any(|byte| byte.is_ascii_uppercase())
        && body.bytes().any(|byte| byte.is_ascii_lowercase());
    (body.len() >= *least && (digit || both)).then_some(prefix.len() + body.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shapes_are_masked() {
        let key = "a1B2".repeat(10);
        for (text, expected) in [
            (format!("key sk-ant-api03-{key} end"), "key [secret] end"),
            (format!("OPENAI=sk-proj-{key}"), "OPENAI=[secret]"),
            (format!("(ghp_{key})"), "([secret])"),
            (format!("github_pat_{key}"), "[secret]"),
            (format!("glpat-{key}, npm_{key}, pypi-{key}."), "[secret], [secret], [secret]."),
            ("xoxb-1234567890-abc".to_owned(), "[secret]"),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), "[secret]"),
            (format!("eyJ{key}.eyJ{key}.{key}"), "[secret]"),
            ("https://ann:hunter2@example.com/x".to_owned(), "https://ann:[secret]@example.com/x"),
            ("git+https://tok3n@example.com".to_owned(), "git+https://[secret]@example.com"),
            ("Authorization: Bearer abc.def".to_owned(), "Authorization: Bearer [secret]"),
            (
                "authorization: Basic YWI6Yw==\r\nx: y".to_owned(),
                "authorization: Basic [secret]\r\nx: y",
            ),
            (
                r#"{"Authorization": "Bearer abc"}"#.to_owned(),
                r#"{"Authorization": "Bearer [secret]"}"#,
            ),
            ("x-api-key: abc".to_owned(), "x-api-key: [secret]"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- x".to_owned(),
                "[secret] x",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMII".to_owned(), "[secret]"),
        ] {
            assert_eq!(redact(&text), expected, "{text}");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "author: Ann <ann@example.com>",
            "tokenizer: bpe",
            "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "sha256:9fceb02d0ae598e95dc970b74767f19372d61af89fceb02d0ae598e95dc970b74767f193",
            "https://example.com/a@b?c=d",
            "sk-learn and sk-this-is-a-long-name-of-a-package",
            "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
            "the authorization of the token",
            "npm_config_registry_of_the_project",
            "grün 日本 👍",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(_)), "{text} → {}", redact(text));
        }
    }

    #[test]
    fn known_values_are_masked_wherever_they_stand() {
        let known = ["canary-value", "short"];
        let text = "a=canary-valuecanary-value/xcanary-valuey short";
        assert_eq!(redact_with(text, &known), "a=[secret][secret]/x[secret]y short");
    }

    /// Every byte is looked at a bounded number of times, however the text is made.
    #[test]
    fn the_work_is_linear() {
        for unit in [
            "a",
            "-",
            "sk-",
            "eyJ",
            "https://",
            "a@",
            "authorization: ",
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----",
            "x.y/",
            "://:@",
        ] {
            let text = unit.repeat(60_000 / unit.len());
            let mut reader =
                Reader { text: &text, at: 0, copied: 0, out: None, known: &[], looks: 0 };
            reader.run();
            assert!(reader.looks <= 8 * text.len(), "{unit}: {} looks", reader.looks);
        }
    }

    #[test]
    fn what_is_known_is_masked_beside_what_has_a_shape() {
        let masked = |text| redact_with(text, &["know@nvalue", "knownvalue"]).into_owned();
        assert_eq!(masked("x://knownvalue:@h"), "x://[secret]:@h");
        assert_eq!(masked("x://knownvalue:password@h"), "x://[secret]:[secret]@h");
        assert_eq!(masked("x://aknownvalue-knownvalue:pw@h"), "x://a[secret]-[secret]:[secret]@h");
        assert_eq!(masked("x://u:know@nvalue/"), "x://u:[secret]@nvalue/");
        assert_eq!(masked("authorization: Basic knownvalue"), "authorization: Basic [secret]");
    }

    proptest! {
        #[test]
        fn nothing_known_is_left(text in "[a-c:/@. -]{0,40}", value in "[a-c]{8,9}", at in 0..40_usize) {
            let mut text = text;
            text.insert_str(at.min(text.len()), &value);
            let masked = redact_with(&text, &[&value]).into_owned();
            prop_assert!(!masked.contains(&value), "{masked}");
        }

        #[test]
        fn any_text_is_taken(text: String) {
            let once = redact(&text).into_owned();
            prop_assert!(once.len() <= text.len() + MASK.len() * (text.len() + 1));
        }
    }
}
