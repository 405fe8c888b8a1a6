//! `[limits]`.

use names::{ByteSize, MicroUsd, Span};

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
    pub(crate) steps: Option<Stated<u64>>,
    pub(crate) tokens: Option<Stated<u64>>,
    pub(crate) money: Option<Stated<MicroUsd>>,
}

/// The range in which sizes can be enforced, in bytes: a page to an exbibyte.
const SIZES: (u64, u64) = (4096, 1 << 60);
/// The least memory in which a program starts, in bytes.
const LEAST_MEMORY: u64 = 1 << 20;
/// Processors, in thousandths: a cgroup gives no less than a hundredth.
const CPUS: (f64, f64) = (0.01, 4096.0);
/// Processes: init and a command, up to what Linux can number.
const PROCESSES: (i64, i64) = (2, 4_194_304);
/// Steps and tokens: what JSON carries exactly and nobody reaches.
const COUNTED: (i64, i64) = (1, 1_000_000_000_000_000);
/// The most money, in millionths of a dollar: what JSON carries exactly.
const MONEY: u64 = 1_000_000_000_000_000;
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
            steps: self.counted(&mut entry, "steps"),
            tokens: self.counted(&mut entry, "tokens"),
            money: entry.text("money").and_then(|text| self.money(&text)),
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

    fn counted(&mut self, entry: &mut Entry, key: &str) -> Option<Stated<u64>> {
        let number = entry.whole(key)?;
        let key = format!("limits.{key}");
        let At { line, value } = self.within(number, &key, COUNTED).map(at)?;
        let value = u64::try_from(value).ok()?;
        Some(self.stated(At { line, value }, &key))
    }

    fn money(&mut self, text: &At<String>) -> Option<Stated<MicroUsd>> {
        let money = self.parsed(text, "limits.money", MicroUsd::parse)?;
        let range = (MicroUsd(1), MicroUsd(MONEY));
        self.within(At { line: text.line, value: money }, "limits.money", range)
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
