//! Carries out the calls of one answer, in order; each gets exactly one result with its id.

use api::event::{End, Event, Fault, Item, Question, Reason, Shown, Status, Task, Update};
use hands::proposal::Proposal;
use models::ToolCall;
use names::Span;

use super::Conversation;
use crate::interrupt::Interrupt;
use crate::outside::{CallId, Carried, Reply};
use crate::results::{Seen, Share};
use crate::session::{self, What};
use crate::text::{middle_cut, start_of};
use crate::tools::{self, Act};

/// After so many proposals in a row of which nobody knows what came, the sandbox is gone.
const MOST_LOST: u32 = 2;
/// A client is shown no more of a call's arguments, and of its output.
const MOST_SHOWN: usize = 4 * 1024;
/// A result is not cut shorter than this, however many there are.
const LEAST_SHARE: u64 = 256;
/// How long a word about what is not shown may be, in bytes.
const NOTE: u64 = 128;
/// A command without a timeout gets one when less than this is left.
const SHORT: Span = Span::from_secs(120);

/// What came of a call, on its way to the model and to whoever watches.
struct Done {
    seen: Seen,
    status: Status,
    file: Option<session::Seen>,
    exit: Option<i32>,
    stop: Option<End>,
}

impl Done {
    fn new(seen: Seen) -> Self {
        let status = if seen.failed { Status::Failed } else { Status::Completed };
        Self { seen, status, file: None, exit: None, stop: None }
    }
}

impl Conversation<'_> {
    pub(super) fn carry_all(
        &mut self,
        calls: Vec<(ToolCall, Option<String>)>,
        interrupt: &Interrupt,
    ) -> Result<(), End> {
        let mut left = self.context.window().most_of_results();
        for (call, refusal) in calls {
            self.stand(interrupt)?;
            let most = self.context.window().most_of_result().min(left).max(LEAST_SHARE);
            let used = match refusal {
                Some(why) => self.refuse(&call, why)?,
                None => self.carry(&call, most, interrupt)?,
            };
            left = left.saturating_sub(used);
        }
        Ok(())
    }

    /// Carries out one call; how many bytes its result has.
    fn carry(&mut self, call: &ToolCall, most: u64, interrupt: &Interrupt) -> Result<u64, End> {
        match tools::act(call) {
            Err(why) => self.refuse(call, why),
            Ok(Act::Todo(tasks)) => self.set_todo(call, tasks),
            Ok(Act::Ask(question)) => self.put(call, &question, interrupt),
            Ok(Act::Propose(proposal)) => self.propose(call, proposal, most, interrupt),
        }
    }

    fn refuse(&mut self, call: &ToolCall, why: String) -> Result<u64, End> {
        let item = self.next_item();
        self.finish(call, item, About::Nothing, Done::new(Seen::failed(why)))
    }

    fn set_todo(&mut self, call: &ToolCall, tasks: Vec<Task>) -> Result<u64, End> {
        self.keep(What::Todo { items: tasks.clone() })?;
        self.todo.clone_from(&tasks);
        let entry = self.keep_result(call, &Seen::done("kept"), None)?;
        self.context.result(entry, &id(call), Seen::done("kept").parts, false);
        self.show_item(Shown::Todo { items: tasks });
        Ok(0)
    }

    fn put(
        &mut self,
        call: &ToolCall,
        question: &Question,
        interrupt: &Interrupt,
    ) -> Result<u64, End> {
        let about = About::Question(question);
        let item = self.show_begin(call, about);
        let cancel = interrupt.arm();
        let seen = match self.outside.person.ask(question, &cancel) {
            Reply::Answer(answer) => Seen::done(middle_cut(&answer, 64 * 1024)),
            Reply::Declined => Seen::failed("the person does not want to answer; decide yourself"),
            Reply::Nobody => Seen::failed(
                "nobody is there to answer; decide yourself, and say at the end what you assumed",
            ),
        };
        self.finish(call, item, about, Done::new(seen))
    }

    fn propose(
        &mut self,
        call: &ToolCall,
        mut proposal: Proposal,
        most: u64,
        interrupt: &Interrupt,
    ) -> Result<u64, End> {
        if let Err(why) = self.files.expect(&mut proposal) {
            return self.refuse(call, why);
        }
        self.bound(&mut proposal, most);
        if let Some(why) = self.progress.writes(&proposal) {
            let seen = Seen::failed(format!("not carried out: {why}"));
            let stop = Some(End::Stopped(Reason::NoProgress(why)));
            let item = self.next_item();
            let done = Done { stop, ..Done::new(seen) };
            return self.finish(call, item, About::Proposal(&proposal), done);
        }
        self.keep(What::Call { call: id(call), proposal: proposal.clone() })?;
        let item = self.show_begin(call, About::Proposal(&proposal));
        let cancel = interrupt.arm();
        let watch = &mut *self.outside.watch;
        let mut progress = |delta| {
            (watch)(&Event::ItemUpdated { item: Update { id: item.clone(), delta } });
        };
        let hands = &mut *self.outside.hands;
        let carried = hands.carry_out(&id(call), &proposal, &mut progress, &cancel);
        self.budget.tick((self.outside.clock)());
        let done = self.weigh(&proposal, carried, most);
        self.finish(call, item, About::Proposal(&proposal), done)
    }

    /// A command ends with the time of the run, and a page with what the model is shown of it.
    fn bound(&self, proposal: &mut Proposal, most: u64) {
        match (proposal, self.budget.left().wall) {
            (Proposal::Read { most: page, .. } | Proposal::Fetch { most: page, .. }, _) => {
                *page = Some(most.saturating_sub(NOTE));
            }
            (Proposal::Bash { timeout, background: false, .. }, Some(left)) => match timeout {
                Some(asked) => *asked = (*asked).min(left),
                None if left < SHORT => *timeout = Some(left),
                None => {}
            },
            _ => {}
        }
    }

    /// What became of a proposal, for the model and for the turn.
    fn weigh(&mut self, proposal: &Proposal, carried: Carried, most: u64) -> Done {
        let images = self.outside.model.abilities().images;
        let (status, file, exit) = match &carried {
            Carried::Outcome(outcome) => {
                let file = outcome.ok.then(|| self.files.after(proposal, outcome.digest));
                (None, file.flatten(), outcome.exit)
            }
            Carried::Denied { .. } => (Some(Status::Denied), None, None),
            Carried::Lost(_) => (Some(Status::Unknown), None, None),
        };
        let lost = match &carried {
            Carried::Lost(why) => Some(why.clone()),
            _ => None,
        };
        self.lost = if lost.is_some() { self.lost + 1 } else { 0 };
        let stop = lost.filter(|_| self.lost >= MOST_LOST);
        let stop = stop.map(|why| End::Failed(Fault::Hands(why)));
        let done = Done::new(Seen::of(carried, Share { most, images }));
        Done { status: status.unwrap_or(done.status), file, exit, stop, ..done }
    }

    /// Shows that a call begins; the item's id.
    fn show_begin(&mut self, call: &ToolCall, about: About<'_>) -> String {
        let id = self.next_item();
        let what = shown(call, about, String::new(), None, Status::InProgress);
        self.show(&Event::ItemStarted { item: Item { id: id.clone(), what } });
        id
    }

    /// Keeps the result of a call, gives it to the model, and shows it.
    fn finish(
        &mut self,
        call: &ToolCall,
        item: String,
        about: About<'_>,
        done: Done,
    ) -> Result<u64, End> {
        let Done { seen, status, file, exit, stop } = done;
        let text = seen.text();
        let entry = self.keep_result(call, &seen, file.clone())?;
        if let Some(file) = &file {
            self.files.note(file);
        }
        let what = shown(call, about, middle_cut(&text, MOST_SHOWN), exit, status);
        self.show(&Event::ItemCompleted { item: Item { id: item, what } });
        let circling = seen.failed.then(|| self.progress.fails(call, &text)).flatten();
        self.context.result(entry, &id(call), seen.parts, seen.failed);
        match stop.or_else(|| circling.map(|why| End::Stopped(Reason::NoProgress(why)))) {
            Some(end) => Err(end),
            None => Ok(text.len() as u64),
        }
    }

    fn keep_result(
        &mut self,
        call: &ToolCall,
        seen: &Seen,
        file: Option<session::Seen>,
    ) -> Result<u64, Fault> {
        let (parts, failed) = (seen.parts.clone(), seen.failed);
        self.keep(What::Result { call: id(call), parts, failed, seen: file })
    }
}

fn id(call: &ToolCall) -> CallId {
    CallId(call.id.clone())
}

/// What a call is about, for whoever watches.
#[derive(Clone, Copy)]
enum About<'a> {
    Proposal(&'a Proposal),
    Question(&'a Question),
    /// It could not be understood.
    Nothing,
}

impl About<'_> {
    fn words(self) -> String {
        match self {
            Self::Proposal(proposal) => proposal.words(),
            Self::Question(question) => names::printable(question.text.as_bytes()),
            Self::Nothing => String::new(),
        }
    }
}

/// A call as a client sees it.
fn shown(
    call: &ToolCall,
    about: About<'_>,
    output: String,
    exit_code: Option<i32>,
    status: Status,
) -> Shown {
    let (tool, words) = (call.name.clone(), about.words());
    match about {
        About::Proposal(Proposal::Bash { command, .. }) => {
            Shown::Command { command: start_of(command, MOST_SHOWN), output, exit_code, status }
        }
        About::Proposal(Proposal::Write { path, .. } | Proposal::Edit { path, .. }) => {
            Shown::FileChange { tool, path: Some(path.clone()), words, output, status }
        }
        About::Proposal(Proposal::Patch { .. }) => {
            Shown::FileChange { tool, path: None, words, output, status }
        }
        _ => {
            let arguments = start_of(&call.arguments, MOST_SHOWN);
            Shown::ToolCall { tool, words, arguments, output, status }
        }
    }
}
