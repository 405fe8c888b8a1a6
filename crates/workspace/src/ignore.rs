//! What Git would ignore, by the rules of gitignore(5), found without running Git.
//!
//! Rules come from `.gitignore` files and from `.git/info/exclude`. The person's global excludes
//! and the index are not looked at: a file that is tracked although a rule matches it counts as
//! ignored here. Matching takes time by pattern times name, never more, whatever the pattern is.

use std::io;

/// Longest file of rules that is looked at, in bytes. The rules of a longer one do not count.
pub(crate) const FILE_MAX: u64 = 256 << 10;

/// Longest rule, in bytes. A longer one does not count.
const RULE_MAX: usize = 4_096;

/// Most rules of one file. Those of a file with more do not count.
const RULES_MAX: usize = 1_000;

/// The rules of one file.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    /// It takes back what an earlier rule said.
    negated: bool,
    /// It means directories only.
    dirs: bool,
    /// It is compared with the whole path below its file, not with the name alone.
    whole: bool,
    pattern: Pattern,
}

impl Rules {
    pub(crate) fn parse(text: &[u8]) -> Self {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let lines = text.split(|byte| *byte == b'\n');
        let rules: Vec<Rule> = lines.filter_map(Rule::parse).take(RULES_MAX + 1).collect();
        if rules.len() > RULES_MAX { Self::default() } else { Self(rules) }
    }

    /// What the last rule that matches says: ignored, or not. `path` is below the file's
    /// directory.
    fn verdict(&self, path: &[u8], is_dir: bool) -> Option<bool> {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let hit = |rule: &&Rule| {
            (is_dir || !rule.dirs) && rule.pattern.matches(if rule.whole { path } else { name })
        };
        self.0.iter().rev().find(hit).map(|rule| !rule.negated)
    }
}

impl Rule {
    fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b"#") || line.len() > RULE_MAX {
            return None;
        }
        let line = trim_spaces(line);
        let (negated, line) = match line.strip_prefix(b"!") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (dirs, line) = match line.strip_suffix(b"/") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let whole = line.contains(&b'/');
        let line = line.strip_prefix(b"/").unwrap_or(line);
        if line.is_empty() {
            return None;
        }
        Some(Self { negated, dirs, whole, pattern: Pattern::parse(line)? })
    }
}

/// Without the spaces at the end that no backslash protects.
fn trim_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut escaped = false;
    for (at, byte) in line.iter().enumerate() {
        if escaped || *byte != b' ' {
            end = at + 1;
        }
        escaped = !escaped && *byte == b'\\';
    }
    line.get(..end).unwrap_or(line)
}

/// A pattern as wildmatch of Git has it, with `WM_PATHNAME`.
#[derive(Debug)]
struct Pattern(Vec<Token>);

#[derive(Debug)]
enum Token {
    Byte(u8),
    /// `?`
    Any,
    /// `[…]`
    Class(Class),
    /// `*`
    Star,
    /// `**` between slashes or ends. With a slash behind it, both together may be nothing.
    Stars {
        before_slash: bool,
    },
}

#[derive(Debug)]
struct Class {
    negated: bool,
    members: [u64; 4],
}

impl Class {
    fn add(&mut self, byte: u8) {
        if let Some(word) = self.members.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
    }

    fn has(&self, byte: u8) -> bool {
        let word = self.members.get(usize::from(byte >> 6)).copied().unwrap_or(0);
        (word >> (byte & 63) & 1 == 1) != self.negated && byte != b'/'
    }
}

impl Pattern {
    /// None if the pattern can match nothing, because it ends in the middle.
    fn parse(text: &[u8]) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(byte) = text.get(at).copied() {
            at += 1;
            tokens.push(match byte {
                b'?' => Token::Any,
                b'\\' => {
                    let escaped = *text.get(at)?;
                    at += 1;
                    Token::Byte(escaped)
                }
                b'[' => Token::Class(class(text, &mut at)?),
                b'*' => stars(text, &mut at),
                plain => Token::Byte(plain),
            });
        }
        Some(Self(tokens))
    }

    fn matches(&self, text: &[u8]) -> bool {
        let mut places = Places::new(&self.0);
        enter(&mut places.now, &self.0, 0);
        for byte in text {
            places.step(*byte);
        }
        places.now.last() == Some(&true)
    }
}

/// Reads one or more `*`, of which the first was read.
fn stars(text: &[u8], at: &mut usize) -> Token {
    let start = *at - 1;
    while text.get(*at) == Some(&b'*') {
        *at += 1;
    }
    let opens = start == 0 || text.get(start - 1) == Some(&b'/');
    let rest = text.get(*at..).unwrap_or_default();
    let closes = rest.is_empty() || rest.starts_with(b"/");
    if *at - start >= 2 && opens && closes {
        Token::Stars { before_slash: !rest.is_empty() }
    } else {
        Token::Star
    }
}

/// Reads a class, of which the bracket was read.
fn class(text: &[u8], at: &mut usize) -> Option<Class> {
    let negated = matches!(text.get(*at), Some(b'!' | b'^'));
    *at += usize::from(negated);
    let mut class = Class { negated, members: [0; 4] };
    let mut first = true;
    let mut last: Option<u8> = None;
    loop {
        let byte = *text.get(*at)?;
        *at += 1;
        match byte {
            b']' if !first => return Some(class),
            b'-' if last.is_some() && !matches!(text.get(*at), Some(b']') | None) => {
                let end = member(text, at)?;
                for byte in last.unwrap_or(end)..=end {
                    class.add(byte);
                }
                last = None;
            }
            b'[' if text.get(*at) == Some(&b':') => {
                match named(text, at)? {
                    Some(is_in) => (0..=u8::MAX).filter(is_in).for_each(|byte| class.add(byte)),
                    None => class.add(b'['),
                }
                last = None;
            }
            _ => {
                *at -= 1;
                let byte = member(text, at)?;
                class.add(byte);
                last = Some(byte);
            }
        }
        first = false;
    }
}

/// A single byte of a class, perhaps escaped.
fn member(text: &[u8], at: &mut usize) -> Option<u8> {
    let mut byte = *text.get(*at)?;
    *at += 1;
    if byte == b'\\' {
        byte = *text.get(*at)?;
        *at += 1;
    }
    Some(byte)
}

/// Reads `:name:]` after a bracket. Without its end the bracket is a member like any other.
#[expect(clippy::type_complexity, reason = "a predicate on bytes has no simpler type")]
fn named(text: &[u8], at: &mut usize) -> Option<Option<fn(&u8) -> bool>> {
    let rest = text.get(*at + 1..)?;
    let length = rest.iter().position(|byte| *byte == b']')?;
    let Some(name) = rest.get(..length).and_then(|name| name.strip_suffix(b":")) else {
        return Some(None);
    };
    *at += length + 2;
    Some(Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | b'\t'..=b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    }))
}

/// All places of a pattern at which a text may be, at once.
struct Places<'a> {
    tokens: &'a [Token],
    now: Vec<bool>,
    next: Vec<bool>,
}

impl<'a> Places<'a> {
    fn new(tokens: &'a [Token]) -> Self {
        let nowhere = vec![false; tokens.len() + 1];
        Self { tokens, now: nowhere.clone(), next: nowhere }
    }

    fn step(&mut self, byte: u8) {
        let Self { tokens, now, next } = self;
        next.fill(false);
        for (place, token) in tokens.iter().enumerate() {
            if now.get(place) != Some(&true) {
                continue;
            }
            match token {
                Token::Byte(expected) if byte == *expected => enter(next, tokens, place + 1),
                Token::Any if byte != b'/' => enter(next, tokens, place + 1),
                Token::Class(class) if class.has(byte) => enter(next, tokens, place + 1),
                Token::Star if byte != b'/' => stay(next, tokens, place),
                Token::Stars { .. } => stay(next, tokens, place),
                _ => {}
            }
        }
        std::mem::swap(now, next);
    }
}

/// Comes to a place from before it, and to those that it leads to without a byte.
fn enter(places: &mut [bool], tokens: &[Token], place: usize) {
    match tokens.get(place) {
        Some(Token::Star | Token::Stars { before_slash: false }) => stay(places, tokens, place),
        Some(Token::Stars { before_slash: true }) => {
            stay(places, tokens, place);
            // "a/**/b" is also "a/b": the stars and the slash behind them are nothing.
            enter(places, tokens, place + 2);
        }
        _ => {
            if let Some(seen) = places.get_mut(place) {
                *seen = true;
            }
        }
    }
}

/// Remains at a star that took a byte, from where the next place is reached without one.
fn stay(places: &mut [bool], tokens: &[Token], place: usize) {
    if let Some(seen) = places.get_mut(place) {
        *seen = true;
    }
    enter(places, tokens, place + 1);
}

/// Where files of rules are: the bytes of the one in a directory, if there is one.
pub(crate) type Source<'a> = &'a dyn Fn(&[u8]) -> io::Result<Option<Vec<u8>>>;

/// Tells which of many paths are ignored. Sorted paths cost by what they do not share.
pub(crate) struct Ignores<'a> {
    source: Source<'a>,
    exclude: Rules,
    root: Rules,
    path: Vec<u8>,
    levels: Vec<Level>,
}

/// A directory above the path asked for.
struct Level {
    /// Where it ends in the path.
    end: usize,
    ignored: bool,
    rules: Rules,
}

impl<'a> Ignores<'a> {
    /// `exclude` is the text of `.git/info/exclude`.
    pub(crate) fn new(source: Source<'a>, exclude: &[u8]) -> io::Result<Self> {
        let root = source(b"")?.map(|text| Rules::parse(&text)).unwrap_or_default();
        let exclude = Rules::parse(exclude);
        Ok(Self { source, exclude, root, path: Vec::new(), levels: Vec::new() })
    }

    pub(crate) fn is_ignored(&mut self, path: &[u8], is_dir: bool) -> io::Result<bool> {
        self.rewind(path);
        let mut start = self.levels.last().map_or(0, |level| level.end + 1);
        while let Some(length) =
            path.get(start..).and_then(|rest| rest.iter().position(|b| *b == b'/'))
        {
            let end = start + length;
            let dir = path.get(..end).unwrap_or(path);
            self.push(dir, end)?;
            start = end + 1;
        }
        Ok(self.judge(path, is_dir))
    }

    /// Forgets the directories that are not above `path`.
    fn rewind(&mut self, path: &[u8]) {
        let same = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        while self
            .levels
            .last()
            .is_some_and(|level| level.end > same || path.get(level.end) != Some(&b'/'))
        {
            self.levels.pop();
        }
        self.path = path.to_vec();
    }

    fn push(&mut self, dir: &[u8], end: usize) -> io::Result<()> {
        let ignored = self.judge(dir, true);
        // Nothing in an ignored directory can be taken back, so its rules do not matter.
        let text = if ignored { None } else { (self.source)(dir)? };
        let rules = text.map(|text| Rules::parse(&text)).unwrap_or_default();
        self.levels.push(Level { end, ignored, rules });
        Ok(())
    }

    /// The nearest file with a rule that matches decides.
    fn judge(&self, path: &[u8], is_dir: bool) -> bool {
        if self.levels.last().is_some_and(|level| level.ignored) {
            return true;
        }
        let nearest = self.levels.iter().rev().filter(|level| !level.rules.0.is_empty());
        let below = nearest.filter_map(|level| Some((&level.rules, path.get(level.end + 1..)?)));
        let all = below.chain([(&self.root, path), (&self.exclude, path)]);
        all.filter_map(|(rules, rest)| rules.verdict(rest, is_dir)).next().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::parse(pattern.as_bytes()).is_some_and(|pattern| pattern.matches(text.as_bytes()))
    }

    #[test]
    fn patterns() {
        for (pattern, text) in [
            ("a*c", "abbc"),
            ("a?c", "abc"),
            ("[a-c]x", "bx"),
            ("[!a]", "b"),
            ("[]]", "]"),
            ("[[:digit:]]", "7"),
            ("a/**/b", "a/b"),
            ("a/**/b", "a/x/y/b"),
            ("**/b", "b"),
            ("**/b", "x/y/b"),
            ("a/**", "a/x/y"),
            ("\\*", "*"),
            ("[\\]]", "]"),
            ("a**c", "abc"),
            ("[a-]", "-"),
            ("**/**/b", "b"),
            ("*", ""),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("a*c", "a/c"),
            ("a?c", "a/c"),
            ("[!a]", "/"),
            ("a/**/b", "ab"),
            ("a/**", "a"),
            ("a**c", "a/c"),
            ("[a", "a"),
            ("a\\", "a\\"),
            ("**/b", "ab"),
            ("a/**/b", "a/xb"),
            ("[[:nosuch:]]", "n"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn hostile_patterns_end() {
        let pattern = "*a".repeat(200);
        assert!(!matches(&pattern, &"a".repeat(199)));
        let pattern = "**/".repeat(300) + "x";
        assert!(!matches(&pattern, &"a/".repeat(500)));
    }
}
