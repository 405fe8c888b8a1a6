//! Goes on with a session that was read back.

use api::event::Fault;
use std::collections::HashSet;

use models::Part;

use super::Conversation;
use crate::outside::CallId;
use crate::results::Seen;
use crate::session::{Session, What};

/// Whether a call had begun when the session broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    /// It may have had an effect.
    Yes,
    /// It had none.
    No,
}

impl Conversation<'_> {
    /// Takes over what the session says; the calls that have no result.
    pub(super) fn restore(&mut self, session: &Session) -> Vec<(CallId, Begun)> {
        let mut begun = HashSet::new();
        for entry in session.path() {
            self.replay(entry.id, &entry.what, &mut begun);
        }
        self.head = session.head();
        let open = self.context.open().to_vec();
        let known = |call: CallId| {
            let state = if begun.contains(&call) { Begun::Yes } else { Begun::No };
            (call, state)
        };
        open.into_iter().map(known).collect()
    }

    fn replay(&mut self, entry: u64, what: &What, begun: &mut HashSet<CallId>) {
        match what {
            What::User { turn, said } => {
                self.turn = *turn;
                self.context.hear(entry, said);
            }
            What::Told { text } => self.context.tell(entry, text),
            What::Assistant { parts } => {
                let ids = parts.iter().filter_map(|part| match part {
                    Part::ToolCall(call) => Some(call.id.clone()),
                    _ => None,
                });
                self.taken.extend(ids);
                self.context.answer(entry, parts.clone());
            }
            What::Call { call, .. } => drop(begun.insert(call.clone())),
            What::Result { call, parts, failed, seen } => {
                if let Some(seen) = seen {
                    self.files.note(seen);
                }
                self.context.result(entry, call, parts.clone(), *failed);
            }
            What::Todo { items } => self.todo.clone_from(items),
            What::Compaction { how } => self.context.compact(how),
            What::Start { .. }
            | What::Cut { .. }
            | What::Spent { .. }
            | What::Branch { .. }
            | What::End { .. } => {}
        }
    }

    /// Gives calls that have no result one that says so.
    pub(super) fn close_open(&mut self, open: &[(CallId, Begun)]) -> Result<(), Fault> {
        for (call, begun) in open {
            let seen = Seen::failed(match begun {
                Begun::Yes => "outcome unknown: interrupted",
                Begun::No => "not carried out: interrupted",
            });
            let parts = seen.parts.clone();
            let kept = What::Result { call: call.clone(), parts, failed: true, seen: None };
            let entry = self.keep(kept)?;
            self.context.result(entry, call, seen.parts, true);
        }
        Ok(())
    }
}
