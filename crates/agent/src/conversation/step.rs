//! One step: a call of the model, from the look at the budget to an answer that is kept.

use api::event::{BudgetKind, End, Event, Fault, Item, ModelFault, Reason, Shown};
use models::{Answer, ModelError, Part, Stop, ToolCall, Usage};

use super::Conversation;
use super::listen::{Listener, SoFar};
use crate::answer::Fit;
use crate::interrupt::{Ended, Interrupt};
use crate::outcome::model_fault;
use crate::schema::Misfit;
use crate::session::{Purpose, What};

/// How often a step is tried again after an answer that broke off or was nonsense.
const MOST_TRIES: u32 = 3;
/// More of what does not fit a schema helps nobody.
const MOST_MISFITS: usize = 8;

/// An answer that was kept.
pub(super) struct Answered {
    pub(super) text: String,
    pub(super) calls: Vec<(ToolCall, Option<String>)>,
    stop: Stop,
}

/// What was borne already since the model last did something.
#[derive(Debug, Default)]
pub(super) struct Patience {
    empty: bool,
    cut: bool,
    unfit: bool,
}

impl Conversation<'_> {
    /// Asks the model for the next step until there is an answer.
    pub(super) fn answer(&mut self, interrupt: &Interrupt) -> Result<Answered, End> {
        let mut tries = 1;
        loop {
            self.make_room(interrupt)?;
            self.stand(interrupt)?;
            let output = self.admit()?;
            let (result, seen) = self.ask(output, Ask::Step, interrupt);
            match result {
                Ok(answer) => return self.take(answer, seen),
                Err(error) => self.bear(error, seen, tries, interrupt)?,
            }
            tries += 1;
        }
    }

    /// The most output that the budget has for the next step.
    pub(super) fn admit(&self) -> Result<u64, End> {
        let most = self.context.window().output;
        let input = self.context.tokens();
        self.budget.admit(input, most).map_err(|kind| End::Stopped(Reason::Budget(kind)))
    }

    /// Lends the request to the model, and charges what it used.
    pub(super) fn ask(
        &mut self,
        output: u64,
        what: Ask<'_>,
        interrupt: &Interrupt,
    ) -> (Result<Answer, ModelError>, SoFar) {
        let cancel = interrupt.arm();
        let attempt = Usage { input: self.context.most_tokens(), ..Usage::default() };
        let Self { outside, context, budget, items, .. } = self;
        let mut listener = Listener {
            watch: outside.watch,
            clock: outside.clock,
            budget,
            cancel: cancel.clone(),
            items,
            attempt,
            seen: SoFar::default(),
        };
        let model = outside.model;
        let result = match what {
            Ask::Step => {
                let request = context.request(output);
                model.answer(request, &cancel, &mut |heard| listener.hear(heard))
            }
            Ask::Summary(wish) => context.with_last(wish, output, |request| {
                model.answer(request, &cancel, &mut |heard| listener.hear_of_summary(heard))
            }),
        };
        let seen = listener.seen;
        (result, seen)
    }

    /// Keeps an answer.
    fn take(&mut self, answer: Answer, seen: SoFar) -> Result<Answered, End> {
        self.pay(Purpose::Answer, answer.usage, &answer.parts, &seen)?;
        if let Some(usage) = answer.usage {
            let input = usage.total().saturating_sub(usage.output);
            self.context.learn(self.context.bytes(), input);
        }
        let fit = Fit::new(answer.parts, &mut self.taken, self.context.window());
        let (text, reasoning) = (fit.text(), fit.reasoning());
        if !fit.parts.is_empty() {
            let entry = self.keep(What::Assistant { parts: fit.parts.clone() })?;
            self.context.answer(entry, fit.parts);
        }
        self.complete(seen.reasoning, Shown::Reasoning { text: reasoning.clone() }, &reasoning);
        self.complete(seen.message, Shown::Message { text: text.clone() }, &text);
        if let Stop::Refused(said) = answer.stop {
            return Err(End::Failed(self.fault(ModelFault::Refused, said)));
        }
        Ok(Answered { text, calls: fit.calls, stop: answer.stop })
    }

    /// Charges a call of the model and keeps what it was.
    pub(super) fn pay(
        &mut self,
        purpose: Purpose,
        usage: Option<Usage>,
        answer: &[Part],
        seen: &SoFar,
    ) -> Result<(), Fault> {
        let attempt = Usage { input: self.context.most_tokens(), ..Usage::default() };
        for usage in &seen.retries {
            self.note(Purpose::Retry, *usage, Charged::Already)?;
        }
        match usage {
            Some(usage) => self.note(purpose, usage, Charged::Counted),
            None => {
                let nothing = models::Request::default();
                let answered = Usage::estimate(&nothing, answer).output;
                let output = answered.max((seen.text.len() as u64).div_ceil(2));
                self.note(purpose, Usage { output, ..attempt }, Charged::Estimated)
            }
        }
    }

    fn note(&mut self, purpose: Purpose, usage: Usage, charged: Charged) -> Result<(), Fault> {
        self.budget.tick((self.outside.clock)());
        let cost = match charged {
            Charged::Already => self.budget.cost_of(usage),
            Charged::Counted | Charged::Estimated => self.budget.charge(usage).cost,
        };
        let now = self.budget.spent();
        let wall = super::since(now, self.noted).wall;
        self.noted = now;
        let estimated = charged != Charged::Counted;
        self.keep(What::Spent { purpose, usage, cost, wall, estimated }).map(drop)
    }

    /// Bears that there is no answer, or ends the turn because of it.
    fn bear(
        &mut self,
        error: ModelError,
        seen: SoFar,
        tries: u32,
        interrupt: &Interrupt,
    ) -> Result<(), End> {
        self.pay_for_nothing(&error, &seen)?;
        self.keep_what_was_seen(&error, &seen)?;
        let Some(kind) = model_fault(&error) else { return Err(cancelled(&seen, interrupt)) };
        let said = error.to_string();
        let again = match error {
            ModelError::TooLong(_) => {
                self.context.tighten();
                true
            }
            ModelError::Interrupted(_) | ModelError::Malformed(_) => true,
            _ => false,
        };
        if !again || tries >= MOST_TRIES {
            return Err(End::Failed(self.fault(kind, said)));
        }
        let model = self.outside.model.id().to_string();
        self.show_item(Shown::Error { message: format!("{model}: {said}; asking again") });
        Ok(())
    }

    /// A provider that worked may charge for it, and doesn't say how much.
    fn pay_for_nothing(&mut self, error: &ModelError, seen: &SoFar) -> Result<(), Fault> {
        let usage = (!error.may_cost()).then(Usage::default);
        self.pay(Purpose::Retry, usage, &[], seen)
    }

    /// What was shown of an answer that broke off is kept, for the person.
    fn keep_what_was_seen(&mut self, error: &ModelError, seen: &SoFar) -> Result<(), Fault> {
        if seen.text.is_empty() {
            return Ok(());
        }
        let text = seen.text.clone();
        self.keep(What::Cut { text: text.clone(), why: error.to_string() })?;
        self.complete(seen.message.clone(), Shown::Message { text: text.clone() }, &text);
        Ok(())
    }

    /// Shows an item as complete, if there is one.
    fn complete(&mut self, id: Option<String>, what: Shown, text: &str) {
        if id.is_none() && text.is_empty() {
            return;
        }
        let id = id.unwrap_or_else(|| self.next_item());
        self.show(&Event::ItemCompleted { item: Item { id, what } });
    }

    /// An answer without calls: the last message, unless there is something wrong with it.
    pub(super) fn conclude(
        &mut self,
        answered: Answered,
        patience: &mut Patience,
    ) -> Result<Option<String>, End> {
        if answered.stop == Stop::Length {
            return self.once(&mut patience.cut, CUT, "its answers reach the output limit");
        }
        if answered.text.trim().is_empty() {
            return self.once(&mut patience.empty, EMPTY, "the model answers nothing");
        }
        let Some(Err(misfits)) = self.schema.as_ref().map(|schema| schema.fit(&answered.text))
        else {
            return Ok(Some(answered.text));
        };
        let misfits: Vec<_> = misfits.iter().take(MOST_MISFITS).map(Misfit::to_string).collect();
        if patience.unfit {
            return Err(End::Failed(Fault::Schema(misfits)));
        }
        patience.unfit = true;
        self.tell(&format!("{UNFIT}{}", misfits.join("\n")))?;
        Ok(None)
    }

    /// Tells the model once what is wrong; the second time the turn is over.
    fn once(&mut self, told: &mut bool, text: &str, why: &str) -> Result<Option<String>, End> {
        if *told {
            return Err(End::Stopped(Reason::NoProgress(why.to_owned())));
        }
        *told = true;
        self.tell(text)?;
        Ok(None)
    }

    fn fault(&self, kind: ModelFault, said: String) -> Fault {
        Fault::Model { model: self.outside.model.id().to_string(), kind, said }
    }
}

/// What the model is asked for.
pub(super) enum Ask<'a> {
    /// The next step.
    Step,
    /// A summary, in these words.
    Summary(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Charged {
    Counted,
    Estimated,
    Already,
}

const CUT: &str = "Your answer reached the output limit and was cut. Go on in smaller steps, or say \
                   it shorter.";
const EMPTY: &str = "Your answer was empty. Go on, or say what you did and that you are done.";
const UNFIT: &str = "Your last message must be JSON that fits the schema, and nothing else: no \
                     text around it, no code fence. What is wrong:\n";

/// Who cancelled: a budget, or a person.
fn cancelled(seen: &SoFar, interrupt: &Interrupt) -> End {
    match (seen.crossed, interrupt.ended()) {
        (_, Ended::Run) => End::Stopped(Reason::Ended),
        (_, Ended::Time) => End::Stopped(Reason::Budget(BudgetKind::Wall)),
        (Some(kind), Ended::Nothing) => End::Stopped(Reason::Budget(kind)),
        _ => End::Stopped(Reason::Interrupted),
    }
}
