//! Makes room in the context before it overflows: a summary by the model where the budget has one,
//! and what can be done without a model where not.

use api::event::{End, Fault, Shown};
use models::Stop;

use super::Conversation;
use super::step::Ask;
use crate::context::Outputs;
use crate::interrupt::Interrupt;
use crate::session::{Compaction, Purpose, What};
use crate::text::middle_cut;

/// The longest summary, in tokens.
const SUMMARY: u64 = 2_048;

const WISH: &str = "Older parts of this conversation will be dropped to make room. Write down what \
you need to go on without them: what was found and where, what was changed and why, what failed and \
how, what is left to do, exact names and paths. The person's words and your list are kept anyway. \
Only the summary, no tool calls.";

impl Conversation<'_> {
    /// Makes room if it is time to.
    pub(super) fn make_room(&mut self, interrupt: &Interrupt) -> Result<(), End> {
        if !self.context.is_crowded() {
            return Ok(());
        }
        if !self.context.fits() {
            self.empty(Outputs::Older)?;
        }
        let folded = match self.context.to_keep() {
            Some(kept) if self.context.fits() => self.fold_with_summary(kept, interrupt)?,
            _ => false,
        };
        if !folded {
            self.empty(Outputs::Older)?;
        }
        self.make_do()
    }

    /// Without a model, one thing after another until it fits.
    fn make_do(&mut self) -> Result<(), End> {
        if !self.context.fits()
            && let Some(kept) = self.context.to_keep()
        {
            self.compact(fold(None, Some(kept), &self.todo))?;
        }
        if !self.context.fits() {
            self.empty(Outputs::All)?;
        }
        if !self.context.fits() && self.context.has_answers() {
            self.compact(fold(None, None, &self.todo))?;
        }
        if self.context.fits() {
            return Ok(());
        }
        Err(End::Failed(Fault::Window { window: self.context.window().all }))
    }

    fn fold_with_summary(&mut self, kept: u64, interrupt: &Interrupt) -> Result<bool, End> {
        let Some(summary) = self.summarise(interrupt)? else { return Ok(false) };
        self.compact(fold(Some(summary), Some(kept), &self.todo))?;
        Ok(true)
    }

    /// A summary by the model; `None`: there is no budget for one, or it made none.
    fn summarise(&mut self, interrupt: &Interrupt) -> Result<Option<String>, End> {
        let most = SUMMARY.min(self.context.window().output);
        let input = self.context.tokens().saturating_add(WISH.len() as u64);
        let Ok(output) = self.budget.admit(input, most) else { return Ok(None) };
        let (result, seen) = self.ask(output, Ask::Summary(WISH), interrupt);
        let (usage, parts) = match &result {
            Ok(answer) => (answer.usage, answer.parts.as_slice()),
            Err(_) => (None, [].as_slice()),
        };
        self.pay(Purpose::Compaction, usage, parts, &seen)?;
        self.stand(interrupt)?;
        let summary = match result {
            Ok(answer) if !matches!(answer.stop, Stop::Refused(_)) => answer.text(),
            _ => String::new(),
        };
        let most = usize::try_from(self.context.window().most_of_result()).unwrap_or(usize::MAX);
        Ok(Some(middle_cut(summary.trim(), most)).filter(|summary| !summary.is_empty()))
    }

    fn empty(&mut self, which: Outputs) -> Result<(), End> {
        match self.context.to_empty(which) {
            Some(how) => self.compact(how),
            None => Ok(()),
        }
    }

    /// Makes the context smaller, visibly and for good.
    fn compact(&mut self, how: Compaction) -> Result<(), End> {
        let before = self.context.tokens();
        self.keep(What::Compaction { how: how.clone() })?;
        self.context.compact(&how);
        let after = self.context.tokens();
        let summary = match how {
            Compaction::Fold { summary, .. } => summary,
            Compaction::Empty { .. } => None,
        };
        self.show_item(Shown::Compaction { summary, before, after });
        Ok(())
    }
}

fn fold(summary: Option<String>, kept: Option<u64>, todo: &[api::event::Task]) -> Compaction {
    Compaction::Fold { summary, kept, todo: todo.to_vec() }
}
