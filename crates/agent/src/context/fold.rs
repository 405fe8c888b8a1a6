//! The two ways in which a context becomes smaller, and what there is to do so with.

use api::event::{Task, TaskState};
use std::fmt::Write as _;

use models::{Message, Part};

use super::Context;
use super::weight::{overhead, weigh};
use crate::outside::CallId;
use crate::session::Compaction;
use crate::tools::list;

/// Outputs smaller than this are not worth dropping.
const SMALL: u64 = 256;

impl Context {
    /// The entry of the first answer that a fold should keep; `None`: folding would gain nothing.
    /// What stays is as much as fits three tenths of the room, and at least the last answer.
    pub(crate) fn to_keep(&self) -> Option<u64> {
        let most = self.window.room_bytes() / 10 * 3;
        let mut tail = 0_u64;
        let mut keep = None;
        let messages = self.request.messages.iter().zip(&self.weights).zip(&self.entries);
        for (at, ((message, weight), entry)) in messages.enumerate().rev() {
            tail = tail.saturating_add(*weight);
            if keep.is_some() && tail > most {
                break;
            }
            if at > 1 && matches!(message, Message::Assistant(_)) {
                keep = Some(*entry);
            }
        }
        keep
    }

    /// Dropping the outputs of the calls before the last answer, or of all; `None`: there is
    /// nothing to drop.
    pub(crate) fn to_empty(&self, which: Outputs) -> Option<Compaction> {
        let is_answer = |message: &Message| matches!(message, Message::Assistant(_));
        let last = self.request.messages.iter().rposition(is_answer);
        let end = match which {
            Outputs::Older => last.unwrap_or(0),
            Outputs::All => self.request.messages.len(),
        };
        let parts = self.request.messages.iter().take(end).flat_map(Message::parts);
        let calls: Vec<_> = parts.filter_map(droppable).collect();
        (!calls.is_empty()).then_some(Compaction::Empty { calls })
    }

    /// Whether the model has answered anything that is still seen.
    pub(crate) fn has_answers(&self) -> bool {
        self.request.messages.len() > 1
    }

    /// Puts everything before the answer of the entry `kept` into the first message: the
    /// instructions, the person's words, a summary, the open list.
    pub(super) fn fold(&mut self, summary: Option<&str>, kept: Option<u64>, todo: &[Task]) {
        let position =
            self.entries.iter().zip(&self.request.messages).position(|(entry, message)| {
                Some(*entry) == kept && matches!(message, Message::Assistant(_))
            });
        let kept_from = position.unwrap_or(self.request.messages.len());
        if let Some(summary) = summary {
            self.summary = Some(summary.to_owned());
        }
        let first_entry = self.entries.first().copied().unwrap_or(0);
        let head = self.head(kept_from, todo);
        let head: Vec<_> = head.into_iter().map(Part::Text).collect();
        let weight = head.iter().map(|part| weigh(part) + overhead()).sum();
        let gone: u64 = self.weights.drain(..kept_from.min(self.weights.len())).sum();
        self.bytes = self.bytes.saturating_sub(gone).saturating_add(weight);
        self.request.messages.splice(..kept_from, [Message::User(head)]);
        self.entries.splice(..kept_from.min(self.entries.len()), [first_entry]);
        self.weights.insert(0, weight);
        for (at, _) in &mut self.heard {
            *at = (*at + 1).saturating_sub(kept_from);
        }
    }

    /// What the first message says after a fold.
    fn head(&self, kept_from: usize, todo: &[Task]) -> Vec<String> {
        let mut head = vec![self.instructions.clone()];
        let mut text =
            "Older parts of this conversation made room. What the person said in them:\n"
                .to_owned();
        for (_, words) in self.heard.iter().filter(|(at, _)| *at < kept_from) {
            let _ = writeln!(text, "\n<person>\n{words}\n</person>");
        }
        if let Some(summary) = &self.summary {
            let _ = writeln!(text, "\nWhat was done, in your own words:\n\n{summary}");
        }
        if todo.iter().any(|task| task.state != TaskState::Done) {
            let _ = writeln!(text, "\nYour list:\n\n{}", list(todo));
        }
        head.push(text);
        head.retain(|text| !text.is_empty());
        head
    }

    /// Drops the outputs of these calls.
    pub(super) fn empty(&mut self, calls: &[CallId]) {
        for (message, sum) in self.request.messages.iter_mut().zip(&mut self.weights) {
            let Message::User(parts) = message else { continue };
            for part in parts {
                let before = weigh(part);
                let Part::ToolResult { call, parts, .. } = part else { continue };
                if !calls.iter().any(|gone| gone.0 == *call) {
                    continue;
                }
                *parts = vec![Part::Text(format!(
                    "[an output of {before} bytes made room; call again if you need it]"
                ))];
                let less = before.saturating_sub(weigh(part));
                *sum = sum.saturating_sub(less);
                self.bytes = self.bytes.saturating_sub(less);
            }
        }
    }
}

/// Which outputs are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outputs {
    /// Those before the last answer.
    Older,
    /// All.
    All,
}

fn droppable(part: &Part) -> Option<CallId> {
    match part {
        Part::ToolResult { call, .. } if weigh(part) > SMALL + call.len() as u64 => {
            Some(CallId(call.clone()))
        }
        _ => None,
    }
}
