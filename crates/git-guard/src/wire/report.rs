//! What a server reports of a push, read; and what Loop reports of one that it refuses, written
//! (gitprotocol-pack(5), "Report Status"). No I/O.

use std::collections::HashMap;

use names::printable;

use super::pkt::{self, Pkt};
use super::push::{Command, Reporting};

/// Most bytes of a report that are kept.
const MOST_BYTES: usize = 1024 * 1024;
/// Longest reason that is repeated, in characters.
const LONGEST_REASON: usize = 300;
/// Band of the report, and band of text for people.
const REPORT: u8 = 1;
const TEXT: u8 = 2;

/// What became of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// The server changed it.
    Changed,
    /// The server refused, and why.
    Refused(String),
}

/// Reads a report as it comes.
#[derive(Debug)]
pub struct ReportReader {
    side_band: bool,
    outer: Vec<u8>,
    report: Vec<u8>,
    is_broken: bool,
}

impl ReportReader {
    /// For an answer in this form.
    #[must_use]
    pub fn new(reporting: Reporting) -> Self {
        let side_band = reporting.side_band;
        Self { side_band, outer: Vec::new(), report: Vec::new(), is_broken: !reporting.status }
    }

    /// Reads some more.
    pub fn read(&mut self, bytes: &[u8]) {
        if self.is_broken {
            return;
        }
        if self.side_band {
            self.outer.extend(bytes);
            self.bands();
        } else {
            self.report.extend(bytes);
        }
        if self.is_broken || self.report.len() > MOST_BYTES {
            self.is_broken = true;
            (self.outer, self.report) = (Vec::new(), Vec::new());
        }
    }

    fn bands(&mut self) {
        let mut taken = 0;
        loop {
            match pkt::read(self.outer.get(taken..).unwrap_or_default()) {
                Ok(None) => break,
                Ok(Some((packet, length))) => {
                    if let Pkt::Data([REPORT, data @ ..]) = packet {
                        self.report.extend(data);
                    }
                    taken += length;
                }
                Err(_) => {
                    self.is_broken = true;
                    return;
                }
            }
        }
        self.outer.drain(..taken);
    }

    /// The status of each reference that was reported; none if there is no report.
    #[must_use]
    pub fn finish(self) -> HashMap<String, Status> {
        if self.is_broken { HashMap::new() } else { statuses(&self.report).unwrap_or_default() }
    }
}

/// `None` if it isn't a report, all of it.
fn statuses(mut bytes: &[u8]) -> Option<HashMap<String, Status>> {
    let mut statuses = HashMap::new();
    let mut is_unpacked = None;
    loop {
        let (packet, length) = pkt::read(bytes).ok().flatten()?;
        bytes = bytes.get(length..)?;
        let Pkt::Data(line) = packet else { break };
        let line = String::from_utf8_lossy(line);
        let line = line.strip_suffix('\n').unwrap_or(&line);
        match line.split_once(' ')? {
            ("unpack", result) => is_unpacked = Some(result == "ok"),
            ("ok", name) => {
                statuses.insert(name.to_owned(), Status::Changed);
            }
            ("ng", rest) => {
                let (name, why) = rest.split_once(' ').unwrap_or((rest, ""));
                statuses.insert(name.to_owned(), Status::Refused(reason(why)));
            }
            ("option", _) => {}
            _ => return None,
        }
    }
    is_unpacked.map(|_| statuses)
}

/// In a line, escaped, not too long.
fn reason(text: &str) -> String {
    printable(text.as_bytes()).chars().take(LONGEST_REASON).collect()
}

/// Each reference with what is said of it.
pub type Told<'a> = (&'a Command, String);

/// The answer to a push that Loop refuses: every reference is refused, and people are told why.
/// `None` if the client takes no report.
#[must_use]
pub fn refusal(reporting: Reporting, refs: &[Told<'_>], text: &[String]) -> Option<Vec<u8>> {
    if !reporting.status {
        return None;
    }
    let mut report = Vec::new();
    pkt::write(&mut report, b"unpack ok\n");
    for (command, why) in refs {
        let line = format!("ng {} {}\n", command.reference, reason(why));
        pkt::write(&mut report, line.as_bytes());
    }
    pkt::flush(&mut report);
    if !reporting.side_band {
        return Some(report);
    }
    let mut bytes = Vec::new();
    for line in text {
        band(&mut bytes, TEXT, format!("{}\n", printable(line.as_bytes())).as_bytes());
    }
    report.chunks(1000).for_each(|piece| band(&mut bytes, REPORT, piece));
    pkt::flush(&mut bytes);
    Some(bytes)
}

fn band(to: &mut Vec<u8>, band: u8, data: &[u8]) {
    pkt::write(to, &[&[band], data].concat());
}

#[cfg(test)]
mod tests {
    use super::*;
    use names::{ObjectId, RefName};

    const ALL: Reporting = Reporting { status: true, side_band: true };

    fn command(name: &str) -> Command {
        let id = |digit: &str| ObjectId::parse(&digit.repeat(40)).unwrap();
        Command { old: id("0"), new: id("1"), reference: RefName::parse(name).unwrap() }
    }

    fn read(reporting: Reporting, bytes: &[u8], step: usize) -> HashMap<String, Status> {
        let mut reader = ReportReader::new(reporting);
        bytes.chunks(step).for_each(|piece| reader.read(piece));
        reader.finish()
    }

    #[test]
    fn a_refusal_is_a_report() {
        let (one, two) = (command("refs/heads/a"), command("refs/heads/b"));
        let refs = [(&one, "denied by Loop".to_owned()), (&two, "another\nline".to_owned())];
        for side_band in [true, false] {
            let reporting = Reporting { status: true, side_band };
            let bytes = refusal(reporting, &refs, &["why".to_owned()]).unwrap();
            for step in [1, 5, bytes.len()] {
                let read = read(reporting, &bytes, step);
                let refused = |why: &str| Status::Refused(why.to_owned());
                assert_eq!(read["refs/heads/a"], refused("denied by Loop"));
                assert_eq!(read["refs/heads/b"], refused("another\\nline"));
            }
        }
        assert_eq!(refusal(Reporting::default(), &refs, &[]), None);
    }

    #[test]
    fn a_report_of_a_server() {
        let mut report = Vec::new();
        for line in ["unpack ok\n", "ok refs/heads/a\n", "ng refs/heads/b hook declined\n"] {
            pkt::write(&mut report, line.as_bytes());
        }
        let unfinished = report.clone();
        pkt::flush(&mut report);
        let mut bytes = Vec::new();
        band(&mut bytes, 2, b"hello\n");
        band(&mut bytes, 1, &report);
        pkt::flush(&mut bytes);
        let statuses = read(ALL, &bytes, 3);
        assert_eq!(statuses["refs/heads/a"], Status::Changed);
        assert_eq!(statuses["refs/heads/b"], Status::Refused("hook declined".to_owned()));
        let plain = Reporting { status: true, side_band: false };
        assert!(read(plain, &unfinished, 9).is_empty(), "a report that broke off tells nothing");
        for garbage in [&b"<html>"[..], b"", b"000asomething"] {
            assert!(read(ALL, garbage, 1).is_empty());
        }
    }
}
