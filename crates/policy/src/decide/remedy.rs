//! What to write where nothing matched: the smallest rule that would allow the action.

use std::path::Path;

use crate::action::{Action, FileAccess, GitPush, RefChange};
use crate::authority::Authority;
use crate::pattern::{PathPattern, WordPattern};
use crate::rule::{Method, Outcome};

/// The rule to add; `None` if the action is allowed, or if no rule can name it.
pub(super) fn add_rule(authority: &Authority, action: &Action, outcome: Outcome) -> Option<String> {
    if outcome == Outcome::Allow {
        return None;
    }
    if let Action::Publish(publish) = action {
        return Some(format!("start the run with --publish {}", publish.port));
    }
    Some(format!("extend profile {} with {}", authority.profile, section(action)?))
}

fn section(action: &Action) -> Option<String> {
    let text = match action {
        Action::Exec(exec) => rule(action, &[("program", path(&exec.program)?)]),
        Action::Open(open) if open.access == FileAccess::Read => {
            rule(action, &[("path", path(&open.path)?), ("access", "read".to_owned())])
        }
        Action::Open(open) => {
            rule(action, &[("path", path(&open.path)?), ("access", "write".to_owned())])
        }
        Action::Mount(mount) => rule(action, &[("path", path(&mount.path)?)]),
        Action::Connect(connect) => {
            format!("[[network]] host = \"{}\", ports = [{}]", connect.host, connect.port)
        }
        Action::Resolve(resolve) => format!("[[network]] host = \"{}\"", resolve.host),
        Action::Http(http) => format!(
            "[[network]] host = \"{}\", ports = [{}], methods = [\"{}\"]",
            http.host,
            http.port,
            Method::of_word(&http.method)?
        ),
        Action::GitPush(push) => git_push(action, push)?,
        Action::Docker(docker) if docker.target.is_empty() => {
            rule(action, &[("operation", word(&docker.operation)?)])
        }
        Action::Docker(docker) => rule(
            action,
            &[("operation", word(&docker.operation)?), ("target", word(&docker.target)?)],
        ),
        Action::Lease(lease) => format!("[[lease]] name = \"{}\"", word(&lease.name)?),
        Action::Publish(_) => return None,
        Action::Tool(tool) => rule(action, &[("tool", word(&tool.name)?)]),
        Action::Apply(_) | Action::Discard(_) | Action::Undo(_) | Action::Branch(_) => {
            rule(action, &[])
        }
    };
    Some(text)
}

/// `[git] push` gives neither force nor deletion.
fn git_push(action: &Action, push: &GitPush) -> Option<String> {
    let reference = word(push.reference.as_str())?;
    if matches!(push.change, RefChange::Create | RefChange::Update) {
        return Some(format!("[git] push = [\"{reference}\"]"));
    }
    let repository = word(&push.repository)?;
    let parts = [("host", push.host.to_string()), ("repository", repository)];
    let rule = rule(action, &parts);
    Some(format!("{rule}, refs = [\"{reference}\"], changes = [\"{}\"]", push.change))
}

fn rule(action: &Action, parts: &[(&str, String)]) -> String {
    let mut text = format!("[[rule]] action = \"{}\", verdict = \"allow\"", action.kind());
    for (key, value) in parts {
        text.push_str(&format!(", {key} = {}", toml::Value::String(value.clone())));
    }
    text
}

/// A path, if a pattern of it means it alone.
fn path(path: &Path) -> Option<String> {
    let text = path.to_str().filter(|text| !text.contains('*'))?;
    PathPattern::parse(text).ok().map(|pattern| pattern.to_string())
}

/// A word, if a pattern of it means it alone.
fn word(text: &str) -> Option<String> {
    let pattern = WordPattern::parse(text).ok().filter(|_| !text.contains('*'))?;
    Some(pattern.to_string())
}
