//! Two texts, compared line by line.

use imara_diff::sources::byte_lines;
use imara_diff::{Algorithm, Diff, InternedInput};

use crate::change::Stat;
use crate::content::{has_invisible, without_mark};

/// One side of a comparison.
pub(crate) enum Side<'a> {
    Text(&'a [u8]),
    Long { invisible: bool },
    Binary,
}

/// Lines of two texts, and which of them differ. Its time is bounded whatever the texts are: the
/// search gives up the shortest answer before it becomes quadratic.
pub(crate) struct Comparison<'a> {
    pub(crate) input: InternedInput<&'a [u8]>,
    pub(crate) diff: Diff,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(before: &'a [u8], after: &'a [u8]) -> Self {
        let input = InternedInput::new(byte_lines(before), byte_lines(after));
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        Self { input, diff }
    }

    fn stat(&self) -> Stat {
        let (added, removed) = (self.diff.count_additions(), self.diff.count_removals());
        Stat { added: u64::from(added), removed: u64::from(removed) }
    }

    fn added(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let lines = self.diff.hunks().flat_map(|hunk| hunk.after);
        lines
            .filter_map(|line| self.input.after.get(line as usize))
            .map(|token| self.input.interner[*token])
    }
}

/// Counts the lines, and looks for characters that show nothing among those added. No counts if
/// a side is no text.
pub(crate) fn weigh(before: &Side<'_>, after: &Side<'_>) -> (Option<Stat>, bool) {
    match (before, after) {
        (Side::Text(before), Side::Text(after)) => {
            let comparison = Comparison::new(before, after);
            let invisible = has_invisible(after) && adds_invisible(&comparison);
            (Some(comparison.stat()), invisible)
        }
        (_, Side::Text(after)) => (None, has_invisible(without_mark(after))),
        (_, Side::Long { invisible }) => (None, *invisible),
        (_, Side::Binary) => (None, false),
    }
}

fn adds_invisible(comparison: &Comparison<'_>) -> bool {
    let first = comparison.input.after.first().map(|token| comparison.input.interner[*token]);
    comparison.added().any(|line| {
        let line = if first == Some(line) { without_mark(line) } else { line };
        has_invisible(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighed(before: &str, after: &str) -> (u64, u64, bool) {
        let (stat, invisible) =
            weigh(&Side::Text(before.as_bytes()), &Side::Text(after.as_bytes()));
        let Stat { added, removed } = stat.unwrap();
        (added, removed, invisible)
    }

    #[test]
    fn counts_lines() {
        assert_eq!(weighed("", ""), (0, 0, false));
        assert_eq!(weighed("a\nb\n", "a\nc\nd\n"), (2, 1, false));
        assert_eq!(weighed("a\nb", "a\nb\n"), (1, 1, false));
        assert_eq!(weighed("", "a\nb"), (2, 0, false));
    }

    #[test]
    fn only_added_lines_are_searched() {
        assert_eq!(weighed("x\u{202e}\n", "x\u{202e}\ny\n"), (1, 0, false));
        assert_eq!(weighed("x\n", "x\ny\u{202e}\n"), (1, 0, true));
        assert_eq!(weighed("", "\u{feff}x\n"), (1, 0, false));
        assert_eq!(weighed("", "x\n\u{feff}y\n"), (2, 0, true));
    }

    #[test]
    fn hostile_texts_end() {
        let shuffled = |step: usize| -> Vec<u8> {
            let lines = (0..200_000).map(|n| format!("{}\n", (n * step) % 100_003));
            lines.collect::<String>().into_bytes()
        };
        let (a, b) = (shuffled(7919), shuffled(104_729));
        assert!(weigh(&Side::Text(&a), &Side::Text(&b)).0.is_some());
        let same = |n: usize| b"a\nb\n".repeat(n);
        assert!(weigh(&Side::Text(&same(300_000)), &Side::Text(&same(299_000))).0.is_some());
    }
}
