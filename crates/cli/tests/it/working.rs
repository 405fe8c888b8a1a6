//! Loop's own agent: what `loop run` prints while it works and afterwards, its sessions and models.

use api::event::{
    End, Event, Failure, Fault, Item, ModelFault, Question, Reason, Shown, Status, Task, TaskState,
    Tokens, Update,
};
use api::{ModelView, Person, SessionView, TaskReport};
use names::MicroUsd;

use crate::fake::{self, Fake, HOSTILE, at, run_id};
use crate::play::{Played, play, play_painted, play_with, play_words};

/// A task that the agent says is done.
pub(crate) fn done() -> TaskReport {
    TaskReport {
        schema: 1,
        session: run_id().to_string(),
        model: "anthropic:claude".into(),
        end: End::Finished(format!("Done: {HOSTILE}\n")),
        steps: 3,
        usage: Tokens {
            input_tokens: 30_000,
            cached_input_tokens: 20_000,
            output_tokens: 1_000,
            reasoning_output_tokens: 100,
        },
        cost_micro_usd: Some(MicroUsd(120_000)),
        run: fake::ended_well(),
    }
}

pub(crate) fn sessions() -> Vec<SessionView> {
    let view = SessionView {
        session: "261129-k7m2qd".into(),
        last: at("2026-11-29T22:00:00.000Z"),
        project: "/h/project".into(),
        task: format!(
            "make the tests pass {HOSTILE} and then go on for longer than a line is wide"
        ),
        model: "anthropic:claude".into(),
        turns: 2,
        steps: 9,
        cost_micro_usd: MicroUsd(120_000),
        runs: vec![run_id()],
        broken: None,
    };
    let broken = SessionView {
        session: "261128-0000zz".into(),
        project: "/h/other".into(),
        task: String::new(),
        model: String::new(),
        turns: 0,
        broken: Some(format!("line 3: {HOSTILE}")),
        ..view.clone()
    };
    vec![view, broken]
}

pub(crate) fn models() -> Vec<ModelView> {
    let view = |model: &str, default| ModelView {
        model: model.into(),
        available: true,
        default,
        why: None,
        next: None,
    };
    let missing = ModelView {
        available: false,
        why: Some(format!("there is no key {HOSTILE}")),
        next: Some("set OPENAI_API_KEY, or store a key with `loop login openai`".into()),
        ..view("openai:gpt", false)
    };
    vec![view("anthropic:claude", true), view("ollama:small", false), missing]
}

fn started(id: &str, what: Shown) -> Event {
    Event::ItemStarted { item: Item { id: id.into(), what } }
}

fn completed(id: &str, what: Shown) -> Event {
    Event::ItemCompleted { item: Item { id: id.into(), what } }
}

fn more(id: &str, delta: &str) -> Event {
    Event::ItemUpdated { item: Update { id: id.into(), delta: delta.into() } }
}

fn message(text: &str) -> Shown {
    Shown::Message { text: text.into() }
}

fn reasoning(text: &str) -> Shown {
    Shown::Reasoning { text: text.into() }
}

fn call(tool: &str, words: &str, output: &str, status: Status) -> Shown {
    let arguments = format!("{{\"of\": \"{HOSTILE}\"}}");
    let (tool, words, output) = (tool.into(), words.into(), output.into());
    Shown::ToolCall { tool, words, arguments, output, status }
}

fn command(command: &str, output: &str, exit_code: Option<i32>, status: Status) -> Shown {
    Shown::Command { command: command.into(), output: output.into(), exit_code, status }
}

fn change(path: Option<&str>, words: &str, output: &str, status: Status) -> Shown {
    let tool = if path.is_some() { "edit" } else { "patch" };
    let (path, words, output) = (path.map(Into::into), words.into(), output.into());
    Shown::FileChange { tool: tool.into(), path, words, output, status }
}

fn tasks() -> Vec<Task> {
    let task = |text: &str, state| Task { text: text.into(), state };
    vec![
        task("look", TaskState::Done),
        task(HOSTILE, TaskState::Doing),
        task("test", TaskState::Open),
    ]
}

/// A turn with something of everything.
fn turn() -> Vec<Event> {
    let long: String = (1..=20).map(|line| format!("line {line} {HOSTILE}\n")).collect();
    let long = long + "[exit code 2]";
    let thread = Event::ThreadStarted {
        thread_id: "261129-k7m2qd".into(),
        model: format!("anthropic:{HOSTILE}"),
        resumed: 0,
    };
    let todo = Shown::Todo { items: tasks() };
    let room = Shown::Compaction { summary: None, before: 90_000, after: 20_000 };
    let retry = Shown::Error { message: format!("busy {HOSTILE}; attempt 2 in 1.0 s") };
    let denied = "denied: no rule allows it\nnext: ask";
    vec![
        thread,
        Event::TurnStarted { turn: 1 },
        started("1", reasoning("")),
        more("1", "Let me "),
        more("1", "think.\n\n"),
        started("2", message("")),
        more("2", "\nFirst I "),
        more("2", &format!("look {HOSTILE}\n")),
        more("2", "\nand then I act.\n\n"),
        completed("1", reasoning("Let me think.")),
        completed("2", message("First I look and then I act.")),
        completed("3", todo),
        started("4", call("read", "src/lib.rs", "", Status::InProgress)),
        completed("4", call("read", "src/lib.rs", "1  fn main", Status::Completed)),
        completed("5", call("grep", &format!("foo in {HOSTILE}"), "", Status::Completed)),
        completed("6", call("no-such", "", "there is no tool \"no-such\"", Status::Failed)),
        completed("7", call("fetch", "https://example.com", denied, Status::Denied)),
        completed("8", change(Some(HOSTILE), HOSTILE, "", Status::Completed)),
        completed("9", change(None, "12 lines", "hunk 2 fits nowhere", Status::Failed)),
        started("10", command("make test", "", None, Status::InProgress)),
        more("10", "compiling\n"),
        completed("10", command("make test", &long, Some(2), Status::Failed)),
        completed("11", command(HOSTILE, "", None, Status::Unknown)),
        completed("12", retry),
        completed("13", room),
        completed("14", message("All of it at once.")),
        started("15", call("ask", "Which?", "", Status::InProgress)),
        completed("15", call("ask", "Which?", "this", Status::Completed)),
        completed("16", call("ask", "Which?", "nobody is there", Status::Failed)),
        completed("17", message("Done.")),
        Event::TurnCompleted {
            turn: 1,
            usage: done().usage,
            cost_micro_usd: MicroUsd(120_000),
            steps: 3,
        },
    ]
}

fn working() -> Fake {
    Fake { told: turn(), ..Fake::default() }
}

fn show(name: &str, words: &str, played: &Played) {
    played.assert_inert();
    insta::assert_snapshot!(name, played.told(words));
}

#[test]
fn a_run_is_told_as_it_happens() {
    show("run", "run task", &play("run task", working()));
}

/// Where the message goes to somebody else, it is exact.
#[test]
fn the_last_message_is_on_standard_output_where_that_is_no_terminal() {
    let played = play_with("run task", working(), |console| console.out.terminal = false);
    assert_eq!(played.out, format!("Done: {HOSTILE}\n"));
    let played = play_with("run -q task", working(), |console| console.out.terminal = false);
    assert_eq!((played.out, played.err), (format!("Done: {HOSTILE}\n"), String::new()));
    show("run_quiet", "run --quiet task", &play("run --quiet task", working()));
}

#[test]
fn json_is_an_object_a_line_and_the_report_last() {
    let played = play("run --json task", working());
    played.assert_inert();
    assert_eq!(played.err, "");
    let lines: Vec<serde_json::Value> =
        played.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<Event> = lines[..lines.len() - 1]
        .iter()
        .map(|line| serde_json::from_value(line.clone()).unwrap())
        .collect();
    assert_eq!(events, turn());
    let last = lines.last().unwrap();
    assert_eq!(last["type"], "run.completed");
    assert_eq!(serde_json::from_value::<TaskReport>(last["report"].clone()).unwrap(), done());
}

#[test]
fn a_run_that_did_not_end_well_says_why() {
    let fault = Fault::Model {
        model: "anthropic:claude".into(),
        kind: ModelFault::Overloaded,
        said: HOSTILE.into(),
    };
    let stopped = Reason::NoProgress(format!("the same call again: {HOSTILE}"));
    for (name, end) in
        [("run_failed", End::Failed(fault.clone())), ("run_stopped", End::Stopped(stopped))]
    {
        let report = TaskReport {
            end,
            cost_micro_usd: None,
            run: api::ExecReport { exit_code: 1, ..fake::ended_badly() },
            ..done()
        };
        let failed = Event::TurnFailed {
            turn: 1,
            error: Failure::Failed(fault.clone()),
            usage: report.usage,
            cost_micro_usd: MicroUsd(0),
            steps: 3,
        };
        let fake = Fake { told: vec![failed], task: Some(report), ..Fake::default() };
        let played = play("run task", fake);
        assert_eq!(played.code, 1);
        show(name, "run task", &played);
    }
}

/// What passes is on a terminal only, and nothing of it stays.
#[test]
fn what_goes_on_is_said_and_taken_away() {
    let played = play_with("run task", working(), |console| console.prompts = true);
    for passing in ["… waiting for the model", "… $ make test", "… read src/lib.rs"] {
        assert!(played.err.contains(&format!("{passing}\r\x1b[K")), "{:?}", played.err);
    }
    let lines = played.err.lines().map(|line| line.rsplit("\r\x1b[K").next().unwrap());
    let kept = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert_eq!(kept, play("run task", working()).err);
}

#[test]
fn paint_adds_no_text() {
    let (plain, painted) = (play("run task", working()), play_painted("run task", working()));
    assert_ne!(plain.err, painted.err);
    let mut unpainted = painted.err.clone();
    for code in ["0", "1", "2", "31", "32", "33", "36"] {
        unpainted = unpainted.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(unpainted, plain.err);
}

fn ask(person: &dyn Person) -> String {
    let question = Question {
        text: format!("Which {HOSTILE}?"),
        options: vec!["this".into(), HOSTILE.into()],
    };
    person.question(&question).unwrap_or_else(|| "nobody".into())
}

/// A question begins a line of its own, whatever was being told.
#[test]
fn a_question_is_asked_where_somebody_can_answer() {
    let asked = |words: &str, told: Vec<Event>, answers| {
        let fake = Fake { speak: vec![ask], told, ..Fake::default() };
        let asked = std::rc::Rc::clone(&fake.asked);
        play_with(words, fake, |console| console.answers = answers);
        let asked = asked.borrow();
        asked[0].clone()
    };
    insta::assert_snapshot!("run_question", asked("run task", vec![], true));
    assert_eq!(asked("run task", vec![], false), "nobody");
    assert_eq!(asked("run --json task", vec![], true), "nobody");
    let open = vec![started("1", message("I wonder"))];
    assert!(asked("run task", open, true).starts_with("\nthe agent asks:"));
}

#[test]
fn what_is_asked_for_reaches_the_engine() {
    let fake = Fake::default();
    let asked = std::rc::Rc::clone(&fake.asked);
    let words = "run --model scripted:x --effort high --steps 5 --tokens 1000 --money 2.50 \
                 --timeout 90s --fork k7m2@3 -e A=b --lease l --mode read-only fix the tests";
    play_with(words, fake, |console| console.input = Box::leak(Box::new(b"context".as_slice())));
    insta::assert_snapshot!("run_request", asked.borrow().join("\n"));
}

#[test]
fn a_pipe_that_nobody_writes_to_is_not_waited_for() {
    let fake = Fake::default();
    let asked = std::rc::Rc::clone(&fake.asked);
    let played = play_with("run task", fake, |console| {
        console.input = Box::leak(Box::new(b"too late".as_slice()));
        console.comes = &|_| false;
    });
    assert!(!asked.borrow().join("\n").contains("too late"), "{:?}", asked.borrow());
    assert!(played.err.contains("nothing comes on standard input"), "{}", played.err);
}

#[test]
fn what_can_be_no_request_is_refused() {
    let refused = |words: &str| {
        let played = play(words, Fake::default());
        assert_eq!(played.code, api::exit::USAGE, "{words}");
        played.err
    };
    let words = ["run", "--resume", "now the docs"].map(std::ffi::OsString::from);
    let played = play_words(words.to_vec(), Fake::default());
    assert!(played.err.contains("put the task first"), "{}", played.err);
    assert!(refused("run --fork k7m2@x task").contains("the turn is not a number"));
    assert!(
        refused("run --output-schema /nowhere/schema.json task").contains("/nowhere/schema.json")
    );
}

#[test]
fn sessions_and_models_and_logins() {
    for (name, words) in [
        ("sessions", "sessions"),
        ("sessions_all", "sessions --all"),
        ("sessions_json", "sessions --json"),
        ("models", "models"),
        ("models_json", "models --json"),
        ("logout", "logout anthropic"),
    ] {
        show(name, words, &play(words, Fake::default()));
    }
}

/// A key is read from standard input, and never told again.
#[test]
fn a_key_is_kept_and_not_told() {
    for (name, words) in
        [("login", "login anthropic"), ("login_keyring", "login --keyring anthropic")]
    {
        let fake = Fake::default();
        let asked = std::rc::Rc::clone(&fake.asked);
        let played = play_with(words, fake, |console| {
            console.input = Box::leak(Box::new(b" sk-canary \nrest".as_slice()));
        });
        assert_eq!(*asked.borrow(), ["\"sk-canary\""]);
        assert!(!(played.out.clone() + &played.err).contains("canary"));
        show(name, words, &played);
    }
}
