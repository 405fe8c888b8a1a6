//! Two texts, compared line by line.

use imara_diff::sources::byte_lines;
use imara_diff::{Algorithm, Diff, InternedInput};

/// A line, and its number from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
}

/// The lines that two texts don't share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Numbered as in the text before.
    pub(super) removed: Vec<Line>,
    /// Numbered as in the text after.
    pub(super) added: Vec<Line>,
}

impl Comparison {
    pub(super) fn of(before: &[u8], after: &[u8]) -> Self {
        let input = InternedInput::new(byte_lines(before), byte_lines(after));
        let diff = Diff::compute(Algorithm::Histogram, &input);
        let mut comparison = Self::default();
        for hunk in diff.hunks() {
            let line = |number: u32, token: &_| Line {
                number: u64::from(number) + 1,
                text: text(input.interner[*token]),
            };
            let before = hunk
                .before
                .filter_map(|at| input.before.get(at as usize).map(|token| line(at, token)));
            comparison.removed.extend(before);
            let after = hunk
                .after
                .filter_map(|at| input.after.get(at as usize).map(|token| line(at, token)));
            comparison.added.extend(after);
        }
        comparison
    }

    /// The lines of either side, those added first, without blank ones.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&Line, bool)> {
        let added = self.added.iter().map(|line| (line, true));
        let removed = self.removed.iter().map(|line| (line, false));
        added.chain(removed).filter(|(line, _)| !line.text.trim().is_empty())
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().to_owned()
}

/// The number of the first line that holds this word.
pub(super) fn line_of(text: &[u8], word: &str) -> Option<u64> {
    let text = String::from_utf8_lossy(text);
    let at = text.lines().position(|line| line.contains(word))?;
    u64::try_from(at).ok().map(|at| at + 1)
}
