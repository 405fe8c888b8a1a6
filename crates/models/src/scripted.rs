//! A model that plays a file. Its id says so.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::script::{Fault, FaultKind, Play, Player, Script};
use crate::{Abilities, Answer, Cancel, Event, Model, ModelError, ModelId, Part, Request};

/// What its provider is called.
pub(crate) const PROVIDER: &str = "scripted";
/// Most times that a fault is waited out.
const ATTEMPTS: u32 = 6;
/// How long it stays silent.
const SILENCE: Duration = Duration::from_secs(300);
/// How long it waits after a fault that says nothing else.
const AFTER_A_FAULT: Duration = Duration::from_millis(100);

/// The model of a script.
#[derive(Debug)]
pub struct Scripted {
    id: ModelId,
    abilities: Abilities,
    player: Mutex<Player>,
}

impl Scripted {
    /// From the script's first turn.
    #[must_use]
    pub fn new(script: Script) -> Self {
        let id = ModelId::new(PROVIDER, &*script.name);
        let abilities = Abilities { context: script.context, images: true, ..Abilities::default() };
        Self { id, abilities, player: Mutex::new(Player::new(script)) }
    }

    /// Whether every turn was played or passed over.
    #[must_use]
    pub fn is_at_its_end(&self) -> bool {
        self.player.lock().unwrap_or_else(PoisonError::into_inner).is_at_its_end()
    }

    fn play(&self, request: &Request) -> Result<Play, ModelError> {
        let mut player = self.player.lock().unwrap_or_else(PoisonError::into_inner);
        let play = player.play(self.id.name(), request);
        play.map_err(|error| ModelError::Script(format!("{}: {error}", self.id)))
    }
}

impl Model for Scripted {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn answer(
        &self,
        request: &Request,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Answer, ModelError> {
        for attempt in 1.. {
            let play = self.play(request)?;
            pass(play.delay, cancel)?;
            let fault = play.fault.filter(|fault| !fault.kind.is_harmless());
            let Some(fault) = fault else { return say(play, cancel, sink) };
            let Err(error) = break_off(fault, &play, cancel, sink) else { continue };
            if !is_before_the_answer(fault.kind) || attempt >= ATTEMPTS {
                return Err(error);
            }
            let after = fault.after.map_or(AFTER_A_FAULT, names::Span::as_duration);
            let (why, may_cost) = (error.to_string(), error.may_cost());
            sink(Event::Retrying { after, attempt: attempt + 1, why, may_cost });
            pass(after, cancel)?;
        }
        Err(ModelError::Cancelled)
    }
}

/// Waits, unless it is cancelled.
fn pass(span: Duration, cancel: &Cancel) -> Result<(), ModelError> {
    match cancel.wait(span) {
        true => Err(ModelError::Cancelled),
        false => Ok(()),
    }
}

fn say(play: Play, cancel: &Cancel, sink: &mut dyn FnMut(Event)) -> Result<Answer, ModelError> {
    for part in &play.parts {
        for event in events(part) {
            pass(play.pace, cancel)?;
            sink(event);
        }
    }
    Ok(Answer { parts: play.parts, stop: play.stop, usage: play.usage })
}

/// Text comes word by word.
fn events(part: &Part) -> Vec<Event> {
    match part {
        Part::Text(text) => words(text).map(|word| Event::Text(word.to_owned())).collect(),
        Part::Reasoning { text, .. } => {
            words(text).map(|word| Event::Reasoning(word.to_owned())).collect()
        }
        Part::ToolCall(call) => {
            vec![Event::ToolCall { id: call.id.clone(), name: call.name.clone() }]
        }
        Part::Image { .. } | Part::ToolResult { .. } => Vec::new(),
    }
}

/// The words of a text, each with the space after it.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

/// What a client would make of the fault of a server.
fn break_off(
    fault: Fault,
    play: &Play,
    cancel: &Cancel,
    sink: &mut dyn FnMut(Event),
) -> Result<(), ModelError> {
    let said = format!("scripted: {:?}", fault.kind);
    Err(match fault.kind {
        FaultKind::RateLimit => {
            let after = fault.after.map(names::Span::as_duration);
            ModelError::RateLimited { said, after }
        }
        FaultKind::ServerError | FaultKind::Overloaded | FaultKind::OverloadedEvent => {
            ModelError::Overloaded(said)
        }
        FaultKind::Unauthorized => ModelError::Unauthorized(said),
        FaultKind::TooLong => ModelError::TooLong(said),
        FaultKind::Reset => ModelError::Unanswered(said),
        FaultKind::Silent => {
            pass(SILENCE, cancel)?;
            ModelError::Unanswered(said)
        }
        FaultKind::Malformed | FaultKind::WrongIds | FaultKind::Unstreamed => {
            ModelError::Malformed(said)
        }
        FaultKind::Disconnect | FaultKind::HalfEvent | FaultKind::ErrorEvent => {
            let events: Vec<_> = play.parts.iter().flat_map(events).collect();
            events.iter().take(events.len().div_ceil(2)).cloned().for_each(sink);
            ModelError::Interrupted(said)
        }
        FaultKind::NoUsage | FaultKind::UnknownEvents | FaultKind::Split => return Ok(()),
    })
}

fn is_before_the_answer(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::RateLimit
            | FaultKind::ServerError
            | FaultKind::Overloaded
            | FaultKind::OverloadedEvent
            | FaultKind::Reset
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Stop, ToolSpec};

    fn model(text: &str) -> Scripted {
        Scripted::new(Script::parse(text).unwrap())
    }

    fn ask(model: &Scripted, request: &Request) -> (Result<Answer, ModelError>, Vec<Event>) {
        let mut events = Vec::new();
        let answer = model.answer(request, &Cancel::new(), &mut |event| events.push(event));
        (answer, events)
    }

    fn request(messages: Vec<Message>) -> Request {
        Request { messages, ..Request::default() }
    }

    fn result(call: &str, text: &str, failed: bool) -> Message {
        let parts = vec![Part::Text(text.into())];
        Message::User(vec![Part::ToolResult { call: call.into(), parts, failed }])
    }

    #[test]
    fn turns_wait_for_results_and_branch_on_them() {
        let script = r#"
            name = "branch"
            [[turn]]
            expect = { tools = "bash", system = "Loop" }
            text = "I look."
            call = [{ name = "bash", arguments = { command = "ls" } }]
            [[turn]]
            when = { failed = true }
            text = "It failed."
            next = "end"
            [[turn]]
            expect = { last = "a.txt", results = 1 }
            text = "It is there."
            [[turn]]
            label = "end"
            text = "Done."
        "#;
        for (failed, says) in [(true, "It failed."), (false, "It is there.")] {
            let model = model(script);
            let mut request = request(vec![Message::user("go")]);
            request.system = "You are Loop".into();
            let tool = ToolSpec {
                name: "bash".into(),
                description: String::new(),
                parameters: serde_json::json!({}),
            };
            request.tools.push(tool);
            let (answer, events) = ask(&model, &request);
            let answer = answer.unwrap();
            assert_eq!((answer.stop.clone(), answer.text()), (Stop::Tools, "I look.".into()));
            let call = answer.calls().next().unwrap().clone();
            assert_eq!(call.arguments, r#"{"command":"ls"}"#);
            assert_eq!(events.len(), 3);
            request.messages.push(Message::Assistant(answer.parts.clone()));
            request.messages.push(result(&call.id, "a.txt", failed));
            assert_eq!(ask(&model, &request).0.unwrap().text(), says);
            assert_eq!(ask(&model, &request).0.unwrap().text(), "Done.");
            assert!(model.is_at_its_end());
            let end = ask(&model, &request).0.unwrap_err();
            assert_eq!(
                end.to_string(),
                "scripted:branch: the script is at its end: it has 4 turns"
            );
        }
    }

    #[test]
    fn what_is_not_as_expected_fails_and_says_what() {
        let error = |turn: &str| {
            let model = model(&format!("name = \"x\"\n[[turn]]\n{turn}"));
            ask(&model, &request(vec![Message::user("hello")])).0.unwrap_err().to_string()
        };
        let turns = [
            r#"expect = { last = "bye" }"#,
            r#"expect = { absent = ["x", "hell"] }"#,
            r#"expect = { tools = "bash" }"#,
            r#"expect = { any_tools = true }"#,
            r#"expect = { results = 1 }"#,
            r#"expect = { failed = true }"#,
            r#"expect = { model = "claude" }"#,
            r#"fail = "the agent gave up""#,
        ];
        insta::assert_snapshot!(turns.map(error).join("\n"));
    }

    #[test]
    fn faults_before_an_answer_are_waited_out() {
        let model = model(
            r#"
            name = "x"
            [[turn]]
            text = "Hello."
            fault = { kind = "rate-limit", times = 2, after = "1ms" }
            "#,
        );
        let (answer, events) = ask(&model, &request(vec![]));
        assert_eq!(answer.unwrap().text(), "Hello.");
        assert_eq!(events.len(), 3);
        assert!(matches!(events[1], Event::Retrying { attempt: 3, .. }));
    }

    #[test]
    fn a_broken_answer_is_played_whole_when_it_is_asked_for_again() {
        let model = model(
            r#"
            name = "x"
            [[turn]]
            text = "one two three four"
            fault = { kind = "disconnect" }
            "#,
        );
        let (answer, events) = ask(&model, &request(vec![]));
        assert!(matches!(answer, Err(ModelError::Interrupted(_))));
        assert_eq!(events.len(), 2);
        assert_eq!(ask(&model, &request(vec![])).0.unwrap().text(), "one two three four");
    }

    #[test]
    fn an_answer_that_takes_for_ever_is_cancelled() {
        let model = model(
            r#"
            name = "x"
            [[turn]]
            text = "one two"
            pace = "1h"
            "#,
        );
        let cancel = Cancel::new();
        let other = cancel.clone();
        let thread = std::thread::spawn(move || other.cancel());
        let answer = model.answer(&request(vec![]), &cancel, &mut |_| {});
        assert_eq!(answer, Err(ModelError::Cancelled));
        thread.join().unwrap();
    }

    #[test]
    fn asides_do_not_move_the_script_and_repeats_stay() {
        let model = model(
            r#"
            name = "x"
            [[aside]]
            when = { last = "title" }
            text = "A title"
            [[turn]]
            when = { absent = "stop" }
            repeat = true
            text = "again"
            [[turn]]
            text = "over"
            "#,
        );
        let says = |text: &str| ask(&model, &request(vec![Message::user(text)])).0.unwrap().text();
        assert_eq!(["go", "title", "go", "stop"].map(says), ["again", "A title", "again", "over"]);
    }

    #[test]
    fn a_script_with_a_wrong_key_or_label_is_refused() {
        for bad in [
            "",
            "name = 1",
            "name = \"x\"\n[[turn]]\ntxt = \"\"",
            "name = \"x\"\n[[turn]]\nnext = \"y\"",
        ] {
            assert!(Script::parse(bad).is_err(), "{bad}");
        }
    }
}
