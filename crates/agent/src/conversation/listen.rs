//! Listens to an answer while it is made: shows it, and ends it if a budget is crossed meanwhile.

use api::event::{BudgetKind, Event, Item, Shown, Update};
use models::{Cancel, Event as Heard, Usage};
use names::Timestamp;

use crate::budget::Budget;

/// What is seen of one answer.
pub(super) struct Listener<'a> {
    pub(super) watch: &'a mut dyn FnMut(&Event),
    pub(super) clock: &'a dyn Fn() -> Timestamp,
    pub(super) budget: &'a mut Budget,
    pub(super) cancel: Cancel,
    pub(super) items: &'a mut u64,
    /// What an attempt is charged at most.
    pub(super) attempt: Usage,
    pub(super) seen: SoFar,
}

/// How far an answer has come.
#[derive(Debug, Default)]
pub(super) struct SoFar {
    pub(super) text: String,
    pub(super) message: Option<String>,
    pub(super) reasoning: Option<String>,
    /// What attempts that failed before this one were charged.
    pub(super) retries: Vec<Usage>,
    /// The budget that ended it.
    pub(super) crossed: Option<BudgetKind>,
}

impl Listener<'_> {
    pub(super) fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Text(delta) => self.text(delta),
            Heard::Reasoning(delta) => self.reasoning(delta),
            Heard::ToolCall { .. } => {}
            Heard::Retrying { after, attempt, why, may_cost } => {
                let seconds = after.as_secs_f64();
                let message = format!("{why}; attempt {attempt} in {seconds:.1} s");
                let id = self.next_item();
                let item = Item { id, what: Shown::Error { message } };
                (self.watch)(&Event::ItemCompleted { item });
                self.charge_attempt(may_cost);
            }
        }
        self.look_at_the_clock();
    }

    /// A summary is shown once it is one.
    pub(super) fn hear_of_summary(&mut self, heard: Heard) {
        match heard {
            Heard::Text(delta) => self.seen.text.push_str(&delta),
            Heard::Retrying { .. } => self.hear(heard),
            Heard::Reasoning(_) | Heard::ToolCall { .. } => {}
        }
        self.look_at_the_clock();
    }

    fn text(&mut self, delta: String) {
        self.seen.text.push_str(&delta);
        let id = match self.seen.message.clone() {
            Some(id) => id,
            None => self.start(Shown::Message { text: String::new() }),
        };
        self.seen.message = Some(id.clone());
        (self.watch)(&Event::ItemUpdated { item: Update { id, delta } });
    }

    fn reasoning(&mut self, delta: String) {
        let id = match self.seen.reasoning.clone() {
            Some(id) => id,
            None => self.start(Shown::Reasoning { text: String::new() }),
        };
        self.seen.reasoning = Some(id.clone());
        (self.watch)(&Event::ItemUpdated { item: Update { id, delta } });
    }

    fn start(&mut self, what: Shown) -> String {
        let id = self.next_item();
        let item = Item { id: id.clone(), what };
        (self.watch)(&Event::ItemStarted { item });
        id
    }

    /// The provider does not say what a failed attempt used. It is a step in any case.
    fn charge_attempt(&mut self, may_cost: bool) {
        let usage = if may_cost { self.attempt } else { Usage::default() };
        let _ = self.budget.charge(usage);
        self.seen.retries.push(usage);
        if let Err(kind) = self.budget.admit(self.attempt.input, 1) {
            self.cross(kind);
        }
    }

    fn look_at_the_clock(&mut self) {
        self.budget.tick((self.clock)());
        if self.budget.left().wall.is_some_and(|left| left.as_millis() == 0) {
            self.cross(BudgetKind::Wall);
        }
    }

    fn cross(&mut self, kind: BudgetKind) {
        self.seen.crossed.get_or_insert(kind);
        self.cancel.cancel();
    }

    fn next_item(&mut self) -> String {
        *self.items = self.items.saturating_add(1);
        format!("item_{}", self.items)
    }
}
