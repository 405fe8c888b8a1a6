//! The tools, as one table: what the model is told of them, what is checked, what they propose.
//!
//! A tool does nothing. Its arguments become an [`Act`], which somebody else carries out.

mod arguments;

use std::fmt::Write as _;

use api::event::{Question, Task, TaskState};
use hands::proposal::{GrepMode, JobAct, Proposal, Replacement};
use models::{ToolCall, ToolSpec};
use names::Span;

use arguments::{Arguments, Kind, Parameter, check, optional, required, schema};

/// One tool.
pub struct Tool {
    /// What the model calls it.
    pub name: &'static str,
    /// What the model is told of it.
    pub description: &'static str,
    parameters: &'static [Parameter],
    act: fn(Arguments) -> Result<Act, String>,
}

/// What a call of a tool wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Something in the sandbox.
    Propose(Proposal),
    /// The list of what is to do is this now.
    Todo(Vec<Task>),
    /// A person is asked.
    Ask(Question),
}

/// All tools, in the order in which the model sees them.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "read",
        description: "Read a file, with line numbers. Shows images; lists a directory. Page long \
                      files with offset and limit.",
        parameters: &[
            required("path", Kind::Text, ""),
            optional("offset", Kind::Count, "first line, from 1"),
            optional("limit", Kind::Count, "lines to show"),
        ],
        act: |mut given| {
            Ok(Act::Propose(Proposal::Read {
                path: given.text("path")?,
                offset: given.count("offset"),
                limit: given.count("limit"),
                most: None,
            }))
        },
    },
    Tool {
        name: "write",
        description: "Write a whole file. An existing file must have been read before.",
        parameters: &[required("path", Kind::Text, ""), required("content", Kind::Content, "")],
        act: |mut given| {
            Ok(Act::Propose(Proposal::Write {
                path: given.text("path")?,
                content: given.text("content")?,
                expected: None,
            }))
        },
    },
    Tool {
        name: "edit",
        description: "Replace exact text in a file that you have read. Each `old` must be there \
                      exactly once, unless `all`. All edits happen, or none.",
        parameters: &[
            required("path", Kind::Text, ""),
            required(
                "edits",
                Kind::Each(&[
                    required("old", Kind::Text, "as in the file, without line numbers"),
                    required("new", Kind::Content, ""),
                    optional("all", Kind::Flag, "replace wherever it is"),
                ]),
                "",
            ),
        ],
        act: |mut given| {
            Ok(Act::Propose(Proposal::Edit {
                path: given.text("path")?,
                edits: given.each("edits", replacement)?,
                expected: None,
            }))
        },
    },
    Tool {
        name: "patch",
        description: "Change several files at once, all or none. Takes the `*** Begin Patch` \
                      format or a unified diff.",
        parameters: &[required("patch", Kind::Text, "")],
        act: |mut given| Ok(Act::Propose(Proposal::Patch { patch: given.text("patch")? })),
    },
    Tool {
        name: "grep",
        description: "Search files for a regular expression. Skips what Git ignores.",
        parameters: &[
            required("pattern", Kind::Text, ""),
            optional("path", Kind::Text, "file or directory"),
            optional("glob", Kind::Text, "only such files: *.rs"),
            optional("ignore_case", Kind::Flag, ""),
            optional("context", Kind::Count, "lines around each match"),
            optional("mode", Kind::Choice(&["lines", "files", "count"]), "what to show"),
            optional("offset", Kind::Count, "results to pass over"),
        ],
        act: |mut given| {
            Ok(Act::Propose(Proposal::Grep {
                pattern: given.text("pattern")?,
                path: given.maybe("path"),
                glob: given.maybe("glob"),
                ignore_case: given.flag("ignore_case"),
                context: u32::try_from(given.count("context").unwrap_or(0)).unwrap_or(u32::MAX),
                mode: mode(given.maybe("mode").as_deref()),
                offset: given.count("offset"),
            }))
        },
    },
    Tool {
        name: "glob",
        description: "Find files by name, newest first. Skips what Git ignores.",
        parameters: &[
            required("pattern", Kind::Text, "src/**/*.rs"),
            optional("path", Kind::Text, "directory to look in"),
            optional("offset", Kind::Count, "results to pass over"),
        ],
        act: |mut given| {
            Ok(Act::Propose(Proposal::Glob {
                pattern: given.text("pattern")?,
                path: given.maybe("path"),
                offset: given.count("offset"),
            }))
        },
    },
    Tool {
        name: "ls",
        description: "List a directory.",
        parameters: &[
            optional("path", Kind::Text, ""),
            optional("offset", Kind::Count, "entries to pass over"),
        ],
        act: |mut given| {
            Ok(Act::Propose(Proposal::List {
                path: given.maybe("path"),
                offset: given.count("offset"),
            }))
        },
    },
    Tool {
        name: "bash",
        description: "Run a shell command in the project. With `background` it answers at once \
                      with a job id. Each command is a new shell.",
        parameters: &[
            required("command", Kind::Text, ""),
            optional("timeout", Kind::Count, "seconds; then it is killed"),
            optional("background", Kind::Flag, ""),
            optional("terminal", Kind::Flag, "give it a terminal"),
        ],
        act: |mut given| {
            Ok(Act::Propose(Proposal::Bash {
                command: given.text("command")?,
                timeout: given.seconds("timeout"),
                background: given.flag("background"),
                terminal: given.flag("terminal"),
            }))
        },
    },
    Tool {
        name: "job",
        description: "Attend to a background job: show its new output, wait for it, stop it, \
                      type text into it.",
        parameters: &[
            required("id", Kind::Text, ""),
            required("do", Kind::Choice(&["output", "wait", "stop", "input"]), ""),
            optional("timeout", Kind::Count, "seconds to wait"),
            optional("text", Kind::Content, "what to type; end a line with \\n"),
        ],
        act: |mut given| {
            let act = job_act(&mut given)?;
            Ok(Act::Propose(Proposal::Job { id: given.text("id")?, act }))
        },
    },
    Tool {
        name: "fetch",
        description: "Fetch a page over http or https, as far as the network policy allows.",
        parameters: &[
            required("url", Kind::Text, ""),
            optional("offset", Kind::Count, "bytes of text to pass over"),
        ],
        act: |mut given| {
            Ok(Act::Propose(Proposal::Fetch {
                url: given.text("url")?,
                offset: given.count("offset"),
                most: None,
            }))
        },
    },
    Tool {
        name: "todo",
        description: "Set your list of what is to do, all of it each time. Use it for work of \
                      three steps or more.",
        parameters: &[required(
            "items",
            Kind::Each(&[
                required("text", Kind::Text, ""),
                required("state", Kind::Choice(&["open", "doing", "done"]), ""),
            ]),
            "",
        )],
        act: |mut given| Ok(Act::Todo(given.each("items", task)?)),
    },
    Tool {
        name: "ask",
        description: "Ask the person one question, when you can't go on without the answer. \
                      There may be nobody.",
        parameters: &[
            required("question", Kind::Text, ""),
            optional("options", Kind::Texts, "answers to choose from"),
        ],
        act: |mut given| {
            Ok(Act::Ask(Question {
                text: given.text("question")?,
                options: given.texts("options"),
            }))
        },
    },
];

/// The tools as a model is told about them.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    let spec = |tool: &Tool| ToolSpec {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        parameters: schema(tool.parameters),
    };
    TOOLS.iter().map(spec).collect()
}

/// What a call wants done.
///
/// # Errors
/// Why it can't be, in words for the model that say what to do instead.
pub fn act(call: &ToolCall) -> Result<Act, String> {
    let tool = TOOLS.iter().find(|tool| tool.name == call.name).ok_or_else(|| unknown(call))?;
    let given = parse(&call.arguments).map_err(|why| format!("{}: {why}", tool.name))?;
    let given = check(tool.parameters, given).map_err(|why| refused(tool, &why))?;
    (tool.act)(given).map_err(|why| refused(tool, &[why]))
}

fn parse(arguments: &str) -> Result<serde_json::Value, String> {
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    serde_json::from_str(arguments).map_err(|error| {
        format!("the arguments are not valid JSON ({error}); call it again with one JSON object")
    })
}

fn unknown(call: &ToolCall) -> String {
    let names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
    let called = names::printable(call.name.as_bytes());
    format!("there is no tool \"{called}\"; the tools are {}", names.join(", "))
}

fn refused(tool: &Tool, why: &[String]) -> String {
    let mut text = format!("{}: {}; it takes ", tool.name, why.join("; "));
    for (parameter, first) in tool.parameters.iter().zip((0..).map(|at| at == 0)) {
        let comma = if first { "" } else { ", " };
        let open = if parameter.required { "" } else { "optional " };
        let _ = write!(text, "{comma}{open}`{}`", parameter.name);
    }
    text
}

fn replacement(mut given: Arguments) -> Result<Replacement, String> {
    Ok(Replacement { old: given.text("old")?, new: given.text("new")?, all: given.flag("all") })
}

fn task(mut given: Arguments) -> Result<Task, String> {
    let state = match given.text("state")?.as_str() {
        "doing" => TaskState::Doing,
        "done" => TaskState::Done,
        _ => TaskState::Open,
    };
    Ok(Task { text: given.text("text")?, state })
}

fn mode(name: Option<&str>) -> GrepMode {
    match name {
        Some("files") => GrepMode::Files,
        Some("count") => GrepMode::Count,
        _ => GrepMode::Lines,
    }
}

fn job_act(given: &mut Arguments) -> Result<JobAct, String> {
    let act = given.text("do")?;
    let timeout: Option<Span> = given.seconds("timeout");
    let text = given.maybe("text");
    match act.as_str() {
        "wait" => Ok(JobAct::Wait { timeout }),
        "stop" => Ok(JobAct::Stop),
        "input" => Ok(JobAct::Input { text: text.ok_or("`text` is missing: what to type")? }),
        _ => Ok(JobAct::Output),
    }
}

/// The list as the model reads it.
pub(crate) fn list(tasks: &[Task]) -> String {
    let line = |task: &Task| {
        let mark = match task.state {
            TaskState::Open => "[ ]",
            TaskState::Doing => "[>]",
            TaskState::Done => "[x]",
        };
        format!("{mark} {}", task.text)
    };
    tasks.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> Result<Act, String> {
        act(&ToolCall { id: "1".into(), name: name.into(), arguments: arguments.into() })
    }

    #[test]
    fn every_tool_takes_what_its_schema_says() {
        let examples = [
            ("read", r#"{"path":"a","offset":2,"limit":3}"#),
            ("write", r#"{"path":"a","content":""}"#),
            ("edit", r#"{"path":"a","edits":[{"old":"x","new":"","all":true}]}"#),
            ("patch", r#"{"patch":"*** Begin Patch"}"#),
            (
                "grep",
                r#"{"pattern":"x","path":"a","glob":"*","ignore_case":true,"context":1,"mode":"count","offset":1}"#,
            ),
            ("glob", r#"{"pattern":"*","path":"a","offset":1}"#),
            ("ls", r#"{"path":"a","offset":1}"#),
            ("bash", r#"{"command":"x","timeout":1,"background":true,"terminal":false}"#),
            ("job", r#"{"id":"1","do":"input","text":"y\n","timeout":1}"#),
            ("fetch", r#"{"url":"https://example.com/","offset":1}"#),
            ("todo", r#"{"items":[{"text":"x","state":"doing"}]}"#),
            ("ask", r#"{"question":"x","options":["a","b"]}"#),
        ];
        let names: Vec<_> = examples.iter().map(|(name, _)| *name).collect();
        let tools: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names, tools);
        for ((name, arguments), tool) in examples.iter().zip(TOOLS) {
            let object: serde_json::Value = serde_json::from_str(arguments).unwrap();
            let given: Vec<_> = object.as_object().unwrap().keys().cloned().collect();
            let mut known: Vec<_> = tool.parameters.iter().map(|p| p.name.to_owned()).collect();
            known.sort();
            let mut given_sorted = given.clone();
            given_sorted.sort();
            assert_eq!(given_sorted, known, "{name}");
            assert!(call(name, arguments).is_ok(), "{name}: {:?}", call(name, arguments));
        }
    }

    #[test]
    fn empty_arguments_are_none() {
        let all = Act::Propose(Proposal::List { path: None, offset: None });
        assert_eq!(call("ls", ""), Ok(all));
    }

    #[test]
    fn what_is_wrong_with_a_call_is_said() {
        let calls = [
            ("", "{}"),
            ("rm\u{1b}[2J", "{}"),
            ("read", "{"),
            ("read", "[]"),
            ("read", r#"{"path":7,"ofset":1}"#),
            ("read", r#"{"path":"","offset":-1}"#),
            ("write", r#"{"path":"a"}"#),
            ("edit", r#"{"path":"a","edits":[]}"#),
            ("edit", r#"{"path":"a","edits":[{"old":"","new":"x"}]}"#),
            ("grep", r#"{"pattern":"x","mode":"words"}"#),
            ("job", r#"{"id":"1","do":"input"}"#),
            ("ask", r#"{"question":"x","options":[1]}"#),
        ];
        let said: Vec<_> =
            calls.iter().map(|(name, given)| call(name, given).unwrap_err()).collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        there is no tool ""; the tools are read, write, edit, patch, grep, glob, ls, bash, job, fetch, todo, ask
        there is no tool "rm\x1b[2J"; the tools are read, write, edit, patch, grep, glob, ls, bash, job, fetch, todo, ask
        read: the arguments are not valid JSON (EOF while parsing an object at line 1 column 1); call it again with one JSON object
        read: the arguments are not a JSON object; it takes `path`, optional `offset`, optional `limit`
        read: there is no argument `ofset`; `path` must be text that is not empty; it takes `path`, optional `offset`, optional `limit`
        read: `path` must be text that is not empty; `offset` must be a whole number from 0; it takes `path`, optional `offset`, optional `limit`
        write: `content` is missing; it takes `path`, `content`
        edit: `edits` must be a list that is not empty; it takes `path`, `edits`
        edit: item 1 of `edits`: `old` must be text that is not empty; it takes `path`, `edits`
        grep: `mode` must be one of lines, files, count; it takes `pattern`, optional `path`, optional `glob`, optional `ignore_case`, optional `context`, optional `mode`, optional `offset`
        job: `text` is missing: what to type; it takes `id`, `do`, optional `timeout`, optional `text`
        ask: `options` must be a list of texts; it takes `question`, optional `options`
        "#);
    }
}
