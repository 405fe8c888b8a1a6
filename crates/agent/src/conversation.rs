//! The loop: what the person said, what the model answers, what its calls come to, and again.
//!
//! A [`Conversation`] is driven from outside, one turn at a time, and ends each turn with an
//! [`Outcome`], whatever the model does. Everything is in the journal before it counts.

mod carry;
mod listen;
mod restore;
mod room;
mod step;

use api::event::{BudgetKind, End, Event, Failure, Fault, Item, Reason, Shown, Task};
use std::collections::HashSet;

use models::{Effort, Price};
use names::Timestamp;

use crate::budget::{Budget, Limits, Reserve, Spent};
use crate::context::{Context, Window, blank};
use crate::files::Files;
use crate::interrupt::{Ended, Interrupt};
use crate::outcome::Outcome;
use crate::outside::Outside;
use crate::progress::Progress;
use crate::prompt::{Instructions, Setting};
use crate::schema::Schema;
use crate::session::{Entry, SCHEMA, Said, Session, What};
use crate::tools::{self};
use step::Patience;

/// What a conversation is about, but for what the person says.
#[derive(Debug, Clone, Default)]
pub struct Brief {
    /// The session's id.
    pub session: String,
    /// What fills the system prompt.
    pub setting: Setting,
    /// The instruction files of the base, the nearest last.
    pub instructions: Vec<Instructions>,
    /// What the agent has to know first where it goes on: what became of its earlier changes.
    pub news: Option<String>,
    /// What is asked for.
    pub limits: Limits,
    /// What the authority gives; more is not used, whatever is asked for.
    pub authority: Limits,
    /// What is set aside for verification.
    pub reserve: Reserve,
    /// How much the model should think.
    pub effort: Option<Effort>,
    /// What the last message of a turn has to fit.
    pub schema: Option<Schema>,
}

/// A conversation of a person, a model and what carries out its proposals.
pub struct Conversation<'a> {
    outside: Outside<'a>,
    context: Context,
    budget: Budget,
    progress: Progress,
    files: Files,
    todo: Vec<Task>,
    schema: Option<Schema>,
    /// The ids of all calls so far.
    taken: HashSet<String>,
    /// The newest entry, and the id of the next.
    head: (Option<u64>, u64),
    items: u64,
    turn: u32,
    /// Proposals in a row of which nobody knows what came.
    lost: u32,
    /// What the budget said at the last entry about it.
    noted: Spent,
}

impl<'a> Conversation<'a> {
    /// A new conversation.
    ///
    /// # Errors
    /// The session can't be kept.
    pub fn begin(outside: Outside<'a>, brief: Brief) -> Result<Self, Fault> {
        let mut conversation = Self::new(outside, &brief);
        conversation.start(&brief.session, 0)?;
        Ok(conversation)
    }

    /// A conversation that goes on. Calls that were open get a result that says so, and are not
    /// carried out again. The budget is that of the new run.
    ///
    /// # Errors
    /// The session can't be kept.
    pub fn resume(outside: Outside<'a>, brief: Brief, session: &Session) -> Result<Self, Fault> {
        let mut conversation = Self::new(outside, &brief);
        let open = conversation.restore(session);
        let before = session.entries().len() as u64;
        conversation.start(&brief.session, before)?;
        conversation.close_open(&open)?;
        if let Some(news) = &brief.news {
            conversation.tell(news)?;
        }
        Ok(conversation)
    }

    fn new(outside: Outside<'a>, brief: &Brief) -> Self {
        let abilities = outside.model.abilities();
        let window = Window::of(abilities);
        // A script costs nothing.
        let free = outside.model.id().is_scripted().then(Price::default);
        let price = abilities.price.or(free);
        let schema = brief.schema.as_ref().map(|schema| schema.source().clone());
        let system = brief.setting.prompt();
        let request = blank(system, tools::specs(), brief.effort, schema, &brief.session);
        let limits = brief.limits.within(&brief.authority);
        Self {
            context: Context::new(request, &brief.instructions, window),
            budget: Budget::new(limits, brief.reserve, price, (outside.clock)()),
            progress: Progress::default(),
            files: Files::new(&brief.setting.project),
            todo: Vec::new(),
            schema: brief.schema.clone(),
            taken: HashSet::new(),
            head: (None, 0),
            items: 0,
            turn: 0,
            lost: 0,
            noted: Spent::default(),
            outside,
        }
    }

    fn start(&mut self, session: &str, resumed: u64) -> Result<(), Fault> {
        let model = self.outside.model.id().to_string();
        let thread_id = session.to_owned();
        let what = What::Start { session: thread_id.clone(), model: model.clone() };
        self.keep(what).map(drop)?;
        self.show(&Event::ThreadStarted { thread_id, model, resumed });
        Ok(())
    }

    /// One turn: works on what the person said until the model is done or something ends it.
    pub fn turn(&mut self, said: Said, interrupt: &Interrupt) -> Outcome {
        interrupt.begin_turn();
        self.turn = self.turn.saturating_add(1);
        let before = self.budget.spent();
        let end = match self.work(said, interrupt) {
            Ok(message) => End::Finished(message),
            Err(end) => end,
        };
        let end = self.close(end);
        let spent = since(self.budget.spent(), before);
        self.show_end(&end, spent);
        Outcome { end, spent }
    }

    /// What the run may still use, and has used. The reserve is still set aside.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The budget, for the checks between two turns, which draw on it too.
    pub fn budget_mut(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// The list of what is to do.
    #[must_use]
    pub fn todo(&self) -> &[Task] {
        &self.todo
    }

    /// What the model sees, as it is now.
    #[must_use]
    pub fn messages(&self) -> &[models::Message] {
        self.context.messages()
    }

    fn work(&mut self, said: Said, interrupt: &Interrupt) -> Result<String, End> {
        self.stand(interrupt)?;
        self.hear(said)?;
        let mut patience = Patience::default();
        loop {
            let answered = self.answer(interrupt)?;
            if answered.calls.is_empty() {
                if let Some(message) = self.conclude(answered, &mut patience)? {
                    return Ok(message);
                }
            } else {
                patience = Patience::default();
                self.carry_all(answered.calls, interrupt)?;
            }
        }
    }

    fn hear(&mut self, said: Said) -> Result<(), End> {
        let entry = self.keep(What::User { turn: self.turn, said: said.clone() })?;
        self.context.hear(entry, &said);
        self.show(&Event::TurnStarted { turn: self.turn });
        Ok(())
    }

    /// The agent itself tells the model something.
    fn tell(&mut self, text: &str) -> Result<(), Fault> {
        let entry = self.keep(What::Told { text: text.to_owned() })?;
        self.context.tell(entry, text);
        Ok(())
    }

    /// Whether it may go on: nobody ended it, and there is time.
    fn stand(&mut self, interrupt: &Interrupt) -> Result<(), End> {
        self.budget.tick((self.outside.clock)());
        match interrupt.ended() {
            Ended::Nothing => Ok(()),
            Ended::Turn => Err(End::Stopped(Reason::Interrupted)),
            Ended::Time => Err(End::Stopped(Reason::Budget(BudgetKind::Wall))),
            Ended::Run => Err(End::Stopped(Reason::Ended)),
        }
    }

    /// Ends the turn: no call stays open, and the end is kept.
    fn close(&mut self, end: End) -> End {
        let open = self.context.open().to_vec();
        let open: Vec<_> = open.into_iter().map(|call| (call, restore::Begun::No)).collect();
        let closed = self.close_open(&open);
        let kept = self.keep(What::End { turn: self.turn, end: end.clone() }).map(drop);
        match closed.and(kept) {
            Ok(()) => end,
            Err(fault) => End::Failed(fault),
        }
    }

    /// Keeps an entry; what it says counts from then on.
    fn keep(&mut self, what: What) -> Result<u64, Fault> {
        let (parent, id) = self.head;
        let entry = Entry { schema: SCHEMA, id, parent, time: self.now(), what };
        let kept = self.outside.journal.append(&entry);
        kept.map_err(|error| Fault::Journal(error.to_string()))?;
        self.head = (Some(id), id.saturating_add(1));
        Ok(id)
    }

    fn now(&self) -> Timestamp {
        (self.outside.clock)()
    }

    fn show(&mut self, event: &Event) {
        (self.outside.watch)(event);
    }

    fn show_item(&mut self, what: Shown) {
        let item = Item { id: self.next_item(), what };
        self.show(&Event::ItemCompleted { item });
    }

    fn next_item(&mut self) -> String {
        self.items = self.items.saturating_add(1);
        format!("item_{}", self.items)
    }

    fn show_end(&mut self, end: &End, spent: Spent) {
        let (turn, usage, steps) = (self.turn, spent.tokens(), spent.steps);
        let cost_micro_usd = spent.cost;
        let error = match end {
            End::Finished(_) => {
                self.show(&Event::TurnCompleted { turn, usage, cost_micro_usd, steps });
                return;
            }
            End::Stopped(reason) => Failure::Stopped(reason.clone()),
            End::Failed(fault) => Failure::Failed(fault.clone()),
        };
        self.show(&Event::TurnFailed { turn, error, usage, cost_micro_usd, steps });
    }
}

fn since(now: Spent, before: Spent) -> Spent {
    let less = |now: u64, before: u64| now.saturating_sub(before);
    let usage = models::Usage {
        input: less(now.usage.input, before.usage.input),
        cache_read: less(now.usage.cache_read, before.usage.cache_read),
        cache_write: less(now.usage.cache_write, before.usage.cache_write),
        output: less(now.usage.output, before.usage.output),
        reasoning: less(now.usage.reasoning, before.usage.reasoning),
    };
    Spent {
        steps: less(now.steps, before.steps),
        usage,
        cost: models::MicroUsd(less(now.cost.0, before.cost.0)),
        wall: names::Span::from_millis(less(now.wall.as_millis(), before.wall.as_millis())),
    }
}
