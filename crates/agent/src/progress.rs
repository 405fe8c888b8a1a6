//! Tells work from going round in circles.
//!
//! The third identical write, and the third identical failure of one action, are no progress. A
//! failure that reads differently is.

use std::collections::HashMap;

use hands::proposal::Proposal;
use models::ToolCall;
use names::Digest;

/// How often is too often.
const TOO_OFTEN: u32 = 3;

/// What was tried, and how it failed.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    writes: HashMap<Digest, u32>,
    failures: HashMap<Digest, Failure>,
}

#[derive(Debug)]
struct Failure {
    output: Digest,
    times: u32,
}

impl Progress {
    /// Counts a write; the reason to stop, if it was written as often before.
    pub(crate) fn writes(&mut self, proposal: &Proposal) -> Option<String> {
        let (key, what) = written(proposal)?;
        let times = self.writes.entry(key).or_insert(0);
        *times += 1;
        (*times >= TOO_OFTEN).then(|| format!("the same {what} for the third time"))
    }

    /// Counts a failure; the reason to stop, if it failed in the same way as often before.
    pub(crate) fn fails(&mut self, call: &ToolCall, output: &str) -> Option<String> {
        let output = Digest::of(output.as_bytes());
        let known = self.failures.entry(action(call)).or_insert(Failure { output, times: 0 });
        if known.output != output {
            *known = Failure { output, times: 0 };
        }
        known.times += 1;
        let tool = names::printable(call.name.as_bytes());
        (known.times >= TOO_OFTEN)
            .then(|| format!("the same call of {tool} failed in the same way for the third time"))
    }
}

fn action(call: &ToolCall) -> Digest {
    Digest::of_parts("loop.agent.action", &[call.name.as_bytes(), call.arguments.as_bytes()])
}

/// What a proposal writes, whatever the file held before.
fn written(proposal: &Proposal) -> Option<(Digest, String)> {
    let digest = |parts: &[&[u8]]| Digest::of_parts("loop.agent.write", parts);
    let named = |tool: &str, path: &str| format!("{tool} of {}", names::printable(path.as_bytes()));
    match proposal {
        Proposal::Write { path, content, .. } => {
            let parts = [b"write".as_slice(), path.as_bytes(), content.as_bytes()];
            Some((digest(&parts), named("write", path)))
        }
        Proposal::Edit { path, edits, .. } => {
            let mut parts = vec![b"edit".as_slice(), path.as_bytes()];
            for edit in edits {
                let all: &[u8] = if edit.all { b"all" } else { b"one" };
                parts.extend([edit.old.as_bytes(), edit.new.as_bytes(), all]);
            }
            Some((digest(&parts), named("edit", path)))
        }
        Proposal::Patch { patch } => {
            Some((digest(&[b"patch", patch.as_bytes()]), "patch".to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(content: &str) -> Proposal {
        Proposal::Write { path: "a".into(), content: content.into(), expected: None }
    }

    fn call() -> ToolCall {
        ToolCall { id: "1".into(), name: "bash".into(), arguments: "{}".into() }
    }

    #[test]
    fn the_third_identical_write_is_no_progress() {
        let mut progress = Progress::default();
        assert_eq!(progress.writes(&write("x")), None);
        assert_eq!(progress.writes(&write("y")), None);
        assert_eq!(progress.writes(&write("x")), None);
        let expected = Some(Digest::of(b"other"));
        let again = Proposal::Write { path: "a".into(), content: "x".into(), expected };
        let stop = progress.writes(&again);
        assert_eq!(stop.as_deref(), Some("the same write of a for the third time"));
    }

    #[test]
    fn a_changed_failure_is_progress() {
        let mut progress = Progress::default();
        let outputs = ["2 failed", "2 failed", "1 failed", "1 failed"];
        assert!(outputs.iter().all(|output| progress.fails(&call(), output).is_none()));
        let stop = progress.fails(&call(), "1 failed");
        let told = "the same call of bash failed in the same way for the third time";
        assert_eq!(stop.as_deref(), Some(told));
    }
}
