//! What a Git client is told of a push that is refused, in terms that it shows to whoever pushed.

use broker::Refusal;
use names::printable;
use policy::Verdict;

use crate::wire::push::{Command, Reporting};
use crate::wire::report;

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// What it says, in a line.
    pub reason: String,
}

/// Why something is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// What happened to it, in a word: `denied`, or whose else's fault it is.
    pub word: &'static str,
    /// The status of an answer that is no report.
    pub status: u16,
    /// In a sentence's worth.
    pub reason: String,
    /// The rule that decided.
    pub rule: Option<String>,
    /// What the person could do.
    pub next: Option<String>,
}

impl Default for Why {
    /// It is denied.
    fn default() -> Self {
        Self { word: "denied", status: 403, reason: String::new(), rule: None, next: None }
    }
}

impl Why {
    pub(crate) fn of(reason: impl ToString) -> Self {
        Self { reason: reason.to_string(), ..Self::default() }
    }

    pub(crate) fn verdict(verdict: &Verdict, reason: impl ToString) -> Self {
        let rule = verdict.decided_by.first().map(ToString::to_string);
        Self { reason: reason.to_string(), rule, next: verdict.remedy.clone(), ..Self::default() }
    }

    pub(crate) fn refusal(refusal: &Refusal) -> Self {
        let told = refusal.to_string();
        let reason = told.strip_prefix("denied: ").unwrap_or(&told);
        match refusal.verdict() {
            Some(verdict) => Self::verdict(verdict, reason),
            None => Self::of(reason),
        }
    }

    fn in_a_line(&self) -> String {
        let rule = self.rule.iter().map(|rule| format!(" ({rule})"));
        format!("{} by Loop: {}{}", self.word, self.reason, rule.collect::<String>())
    }

    fn lines(&self) -> Vec<String> {
        let next = self.next.iter().map(|next| format!("next: {next}"));
        std::iter::once(self.in_a_line()).chain(next).collect()
    }
}

/// The answer before there is a push: Git shows it line by line.
pub(crate) fn plain(why: &Why) -> Answer {
    let lines = why.lines();
    let lines = lines.iter().map(|line| format!("{}\n", printable(line.as_bytes())));
    Answer {
        status: why.status,
        content_type: "text/plain",
        body: lines.collect::<String>().into_bytes(),
        reason: why.reason.clone(),
    }
}

/// The answer to a push. Each command has its reason, or none if only others have; a client that
/// takes no report gets a plain answer.
pub(crate) fn report(
    reporting: Reporting,
    commands: &[Command],
    why: &[Option<Why>],
    of_all: &Why,
) -> Answer {
    const OTHERS: &str = "another reference of this push is refused";
    let mut text: Vec<String> = Vec::new();
    let mut refs = Vec::new();
    for (command, why) in commands.iter().zip(why) {
        refs.push((command, why.as_ref().map_or_else(|| OTHERS.to_owned(), Why::in_a_line)));
        for line in why.iter().flat_map(Why::lines) {
            if !text.contains(&line) && text.len() < MOST_LINES {
                text.push(line);
            }
        }
    }
    if commands.is_empty() {
        text = of_all.lines();
    }
    // Where there is neither a reference nor room for text, a report would say nothing.
    let says = !commands.is_empty() || reporting.side_band;
    match report::refusal(reporting, &refs, &text).filter(|_| says) {
        Some(body) => Answer {
            status: 200,
            content_type: "application/x-git-receive-pack-result",
            body,
            reason: of_all.reason.clone(),
        },
        None => plain(of_all),
    }
}

/// Most lines of text besides the report.
const MOST_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use names::{ObjectId, RefName};

    #[test]
    fn whoever_pushed_reads_rule_reason_and_next_step() {
        let why = Why {
            reason: "no rule allows it".to_owned(),
            rule: Some("default git-push".to_owned()),
            next: Some("extend profile x".to_owned()),
            ..Why::default()
        };
        let answer = plain(&why);
        let text = "denied by Loop: no rule allows it (default git-push)\nnext: extend profile x\n";
        assert_eq!((answer.status, answer.body), (403, text.as_bytes().to_vec()));
        let id = |digit: &str| ObjectId::parse(&digit.repeat(40)).unwrap();
        let command =
            |name| Command { old: id("0"), new: id("1"), reference: RefName::parse(name).unwrap() };
        let commands = [command("refs/heads/main"), command("refs/heads/loop/x")];
        let all = Reporting { status: true, side_band: true };
        let answer = report(all, &commands, &[Some(why.clone()), None], &why);
        let text = String::from_utf8(answer.body).unwrap();
        for part in [
            "\u{2}denied by Loop: no rule allows it (default git-push)\n",
            "\u{2}next: extend profile x\n",
            "unpack ok\n",
            "ng refs/heads/main denied by Loop: no rule allows it (default git-push)\n",
            "ng refs/heads/loop/x another reference of this push is refused\n",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
        assert_eq!(report(Reporting::default(), &commands, &[None, None], &why).status, 403);
    }
}
