//! `[limits]`.

use names::{ByteSize, Span};

use super::{File, Stated};
use crate::authority::Milli;
use crate::problem::Problem;
use crate::read::{At, Entry};

/// What one file says about limits.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawLimits {
    pub(crate) memory: Option<Stated<ByteSize>>,
    pub(crate) cpus: Option<Stated<Milli>>,
    pub(crate) processes: Option<Stated<u32>>,
    pub(crate) disk: Option<Stated<ByteSize>>,
    pub(crate) wall: Option<Stated<Span>>,
    pub(crate) output: Option<Stated<ByteSize>>,
}

/// The range in which sizes can be enforced, in bytes: a page to an exbibyte.
const SIZES: (u64, u64) = (4096, 1 << 60);
/// The least memory in which a program starts, in bytes.
const LEAST_MEMORY: u64 = 1 << 20;
/// Processors, in thousandths: a cgroup gives no less than a hundredth.
const CPUS: (f64, f64) = (0.01, 4096.0);
/// Processes: init and a command, up to what Linux can number.
const PROCESSES: (i64, i64) = (2, 4_194_304);
/// Time, in milliseconds: up to a year.
const WALL: (u64, u64) = (1, 366 * 24 * 3_600_000);

impl File<'_> {
    pub(super) fn limits(&mut self, entry: Option<Entry>) -> RawLimits {
        let Some(mut entry) = entry else { return RawLimits::default() };
        RawLimits {
            memory: self.size(&mut entry, "memory", LEAST_MEMORY),
            cpus: entry.number("cpus").and_then(|number| self.cpus(number)),
            processes: entry.whole("processes").and_then(|number| self.processes(number)),
            disk: self.size(&mut entry, "disk", SIZES.0),
            wall: entry.text("wall").and_then(|text| self.wall(&text)),
            output: self.size(&mut entry, "output", 1),
        }
    }

    fn size(&mut self, entry: &mut Entry, key: &str, least: u64) -> Option<Stated<ByteSize>> {
        let text = entry.text(key)?;
        let key = format!("limits.{key}");
        let size = self.parsed(&text, &key, ByteSize::parse)?;
        let range = (ByteSize(least), ByteSize(SIZES.1));
        self.within(At { line: text.line, value: size }, &key, range)
    }

    fn cpus(&mut self, number: At<f64>) -> Option<Stated<Milli>> {
        let At { line, value } = self.within(number, "limits.cpus", CPUS).map(at)?;
        // In range, so it fits; the fraction below a thousandth is below what the kernel counts.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range is checked above"
        )]
        let thousandths = (value * 1000.0).round() as u32;
        Some(self.stated(At { line, value: Milli(thousandths) }, "limits.cpus"))
    }

    fn processes(&mut self, number: At<i64>) -> Option<Stated<u32>> {
        let At { line, value } = self.within(number, "limits.processes", PROCESSES).map(at)?;
        let value = u32::try_from(value).ok()?;
        Some(self.stated(At { line, value }, "limits.processes"))
    }

    fn wall(&mut self, text: &At<String>) -> Option<Stated<Span>> {
        let span = self.parsed(text, "limits.wall", Span::parse)?;
        let range = (Span::from_millis(WALL.0), Span::from_millis(WALL.1));
        self.within(At { line: text.line, value: span }, "limits.wall", range)
    }

    pub(super) fn within<T: PartialOrd + ToString>(
        &mut self,
        at: At<T>,
        key: &str,
        (least, most): (T, T),
    ) -> Option<Stated<T>> {
        if at.value >= least && at.value <= most {
            return Some(self.stated(at, key));
        }
        let [given, least, most] = [&at.value, &least, &most].map(ToString::to_string);
        self.problems.add(at.line, key, Problem::OutOfRange { given, least, most });
        None
    }
}

fn at<T>(stated: Stated<T>) -> At<T> {
    At { line: stated.origin.line, value: stated.value }
}
