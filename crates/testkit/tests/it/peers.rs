//! The real clients, outside of any sandbox, against the model server: one task with a tool call
//! each. They prove that the server speaks their wire formats.

use std::path::Path;
use std::process::Output;

use testkit::{ModelServer, Peer};

/// A task whose tool call leaves a trace, in the words of a client's own tool.
fn script(tool: &str, arguments: &str, asides: &str) -> String {
    format!(
        r#"
        name = "peer"
        {asides}
        [[turn]]
        expect = {{ tools = "{tool}", last = "leave a trace" }}
        reasoning = "It wants a trace."
        text = "I leave one."
        call = [{{ name = "{tool}", arguments = {arguments} }}]
        [[turn]]
        expect = {{ results = 1, last = "left-behind" }}
        text = "There is a trace now."
        "#
    )
}

const COMMAND: &str = "echo left-behind | tee trace";

fn judge(server: &ModelServer, output: &Output, place: &Path) {
    let shown = format!(
        "{}\n{}\n{:#?}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        server.requests().iter().map(|it| format!("{} {}", it.method, it.path)).collect::<Vec<_>>(),
    );
    server.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{shown}"));
    assert!(server.is_at_its_end(), "{shown}");
    assert!(output.status.success(), "{shown}");
    let trace = std::fs::read_to_string(place.join("trace")).unwrap_or_default();
    assert_eq!(trace, "left-behind\n", "{shown}");
    assert!(shown.contains("There is a trace now."), "{shown}");
}

#[test]
fn claude_code_does_a_task() {
    let arguments = format!("{{ command = '{COMMAND}', description = 'Leave a trace' }}");
    let server = ModelServer::start(&script("Bash", &arguments, ""));
    let place = tempfile::tempdir().unwrap();
    let output = Peer::Claude.run(place.path(), &server.url(), "leave a trace");
    judge(&server, &output, place.path());
}

#[test]
fn codex_does_a_task() {
    let arguments = format!("{{ cmd = '{COMMAND}' }}");
    let server = ModelServer::start(&script("exec_command", &arguments, ""));
    let place = tempfile::tempdir().unwrap();
    let output = Peer::Codex.run(place.path(), &server.url(), "leave a trace");
    judge(&server, &output, place.path());
}

#[test]
fn opencode_does_a_task() {
    let arguments = format!("{{ command = '{COMMAND}', description = 'Leave a trace' }}");
    let title = "[[aside]]\nwhen = { any_tools = false }\ntext = 'A trace'";
    let server = ModelServer::start(&script("bash", &arguments, title));
    let place = tempfile::tempdir().unwrap();
    let output = Peer::OpenCode.run(place.path(), &server.url(), "leave a trace");
    judge(&server, &output, place.path());
}
