//! A second evaluator, as naive as the definition: it reads the JSON of an authority and of an
//! action, looks at every rule, and matches texts by recursion. It shares no code with the first.

use serde_json::Value;

/// `allow`, `ask` or `deny`.
pub(crate) fn outcome(authority: &Value, action: &Value) -> &'static str {
    let kind = text(&action["action"]);
    for path in ["program", "cwd", "path"] {
        if kind != "http" && action[path].is_string() && !plain(text(&action[path])) {
            return "deny";
        }
    }
    let rules = list(&authority["rules"]).iter();
    let rules = rules.filter(|rule| {
        let asks_first = kind == "http" && rule["when"]["action"] == "connect";
        !(asks_first && rule["verdict"] == "ask" && connects_unasked(authority, action))
    });
    let grants = list(&authority["network"]).iter().flat_map(|grant| grant_says(grant, action));
    let grants: Vec<&str> = grants.collect();
    let says = |unclear: bool| -> Vec<&str> {
        let rules = rules.clone().filter(|rule| unclear || !is_unclear(rule, action));
        rules.flat_map(|rule| rule_says(rule, action)).chain(grants.iter().copied()).collect()
    };
    let said = says(true);
    let said = if said.contains(&"allow") { said } else { says(false) };
    let default = text(&authority["defaults"][kind]["verdict"]);
    let said = if said.is_empty() { vec![default] } else { said };
    ["deny", "ask", "allow"].into_iter().find(|word| said.contains(word)).unwrap_or("deny")
}

/// Whether something allows the connection of a request, and does not ask.
fn connects_unasked(authority: &Value, http: &Value) -> bool {
    let mut connect = http.clone();
    connect["action"] = "connect".into();
    let about = |it: &Value| {
        let empty = |key| it[key].as_array().is_some_and(Vec::is_empty);
        let listed = !["ports", "methods", "paths"].into_iter().any(empty);
        let port = it["ports"].as_array().is_none_or(|ports| ports.contains(&http["port"]));
        listed && port && host_matches(text(&it["host"]), text(&http["host"]))
    };
    let grants = list(&authority["network"]).iter().any(|grant| about(&grant["target"]));
    let rules = list(&authority["rules"]).iter().any(|rule| {
        let network = ["connect", "http"].contains(&text(&rule["when"]["action"]));
        network && rule["verdict"] == "allow" && about(&rule["when"])
    });
    grants || rules
}

/// Whether a rule asks about a request only because its path could be one of several.
fn is_unclear(rule: &Value, action: &Value) -> bool {
    let lists = rule["when"]["action"] == "http" && rule["when"]["paths"].is_array();
    lists
        && rule["verdict"] == "ask"
        && path_is(&rule["when"]["paths"], text(&action["path"])).is_none()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn plain(path: &str) -> bool {
    path == "/"
        || path.starts_with('/')
            && path.split('/').skip(1).all(|name| !["", ".", ".."].contains(&name))
}

fn rule_says<'r>(rule: &'r Value, action: &Value) -> Option<&'r str> {
    let verdict = text(&rule["verdict"]);
    let when = &rule["when"];
    let (about, kind) = (text(&when["action"]), text(&action["action"]));
    let host = || host_matches(text(&when["host"]), text(&action["host"]));
    let port = || listed(&when["ports"], |port| *port == action["port"]);
    match (about, kind) {
        ("connect", "connect") => (host() && port()).then_some(verdict),
        ("connect", "http") => {
            let path = path_is(&when["paths"], text(&action["path"])).unwrap_or(verdict == "deny");
            let method = listed(&when["methods"], |method| *method == action["method"]);
            let implied = if verdict == "deny" { "deny" } else { "allow" };
            (host() && port() && method && path).then_some(implied)
        }
        ("connect", "resolve") if verdict == "deny" => {
            (host() && when["ports"].is_null()).then_some("deny")
        }
        ("connect", "resolve") => host().then_some("allow"),
        ("http", "http") => {
            let path = match path_is(&when["paths"], text(&action["path"])) {
                Some(matches) => matches,
                None => verdict != "allow",
            };
            let method = listed(&when["methods"], |method| *method == action["method"]);
            (host() && port() && method && path).then_some(verdict)
        }
        ("http", "connect") => (verdict != "deny" && host() && port()).then_some("allow"),
        ("http", "resolve") => (verdict != "deny" && host()).then_some("allow"),
        ("resolve", "resolve") => host().then_some(verdict),
        _ if about != kind => None,
        ("exec", _) => {
            let pattern = text(&when["program"]);
            let is = |program: &str| match pattern {
                "*" => true,
                _ if pattern.contains('/') => glob(pattern, program),
                _ => program.rsplit('/').next() == Some(pattern),
            };
            let called = || list(&action["called"]).iter().any(|name| is(text(name)));
            let program = is(text(&action["program"])) || (verdict != "allow" && called());
            let patterns: Vec<&str> = list(&when["args"]).iter().map(text).collect();
            let args: Vec<&str> = list(&action["args"]).iter().map(text).collect();
            let args = when["args"].is_null() || segments(&patterns, &args);
            let cwd = maybe(&when["cwd"], |cwd| glob(cwd, text(&action["cwd"])));
            (program && args && cwd).then_some(verdict)
        }
        ("open", _) => {
            let access = when["access"].is_null() || when["access"] == action["access"];
            (access && glob(text(&when["path"]), text(&action["path"]))).then_some(verdict)
        }
        ("git-push", _) => {
            let host = maybe(&when["host"], |host| host_matches(host, text(&action["host"])));
            let repository =
                maybe(&when["repository"], |pattern| glob(pattern, text(&action["repository"])));
            let reference = listed(&when["refs"], |r| glob(text(r), text(&action["ref"])));
            let change = listed(&when["changes"], |change| *change == action["change"]);
            (host && repository && reference && change).then_some(verdict)
        }
        ("tool", _) => {
            maybe(&when["name"], |name| glob(name, text(&action["name"]))).then_some(verdict)
        }
        ("apply", _) => {
            let flagged = !list(&action["flagged"]).is_empty();
            (when["flagged"].is_null() || when["flagged"] == flagged).then_some(verdict)
        }
        _ => panic!("the oracle doesn't know {about}"),
    }
}

fn grant_says(grant: &Value, action: &Value) -> Option<&'static str> {
    let target = &grant["target"];
    let empty = ["ports", "methods", "paths"]
        .iter()
        .any(|key| target[key].as_array().is_some_and(Vec::is_empty));
    let host = host_matches(text(&target["host"]), text(&action["host"]));
    let port = listed(&target["ports"], |port| *port == action["port"]);
    let matches = match text(&action["action"]) {
        "resolve" => host,
        "connect" => host && port,
        "http" => {
            let method = listed(&target["methods"], |method| *method == action["method"]);
            let path = path_is(&target["paths"], text(&action["path"])).unwrap_or(false);
            host && port && method && path
        }
        _ => false,
    };
    (matches && !empty).then_some("allow")
}

fn maybe(value: &Value, matches: impl FnOnce(&str) -> bool) -> bool {
    value.as_str().is_none_or(matches)
}

fn listed(value: &Value, matches: impl Fn(&Value) -> bool) -> bool {
    value.as_array().is_none_or(|list| list.iter().any(matches))
}

/// `None` for a path that a server may read as another one.
fn path_is(patterns: &Value, path: &str) -> Option<bool> {
    let Some(patterns) = patterns.as_array() else { return Some(true) };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let names: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let odd = names.iter().rev().skip(1).rev().any(|name| name.is_empty())
        || names.iter().any(|name| [".", ".."].contains(name));
    if odd || path.contains(['\\', ';', '%']) {
        return None;
    }
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    Some(patterns.iter().any(|pattern| glob(text(pattern), path)))
}

fn glob(pattern: &str, path: &str) -> bool {
    let split = |text: &'_ str| -> Vec<String> {
        text.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let (pattern, path) = (split(pattern), split(path));
    let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    segments(&pattern, &path)
}

fn segments(pattern: &[&str], names: &[&str]) -> bool {
    match pattern {
        [] => names.is_empty(),
        ["**", rest @ ..] => (0..=names.len()).any(|taken| segments(rest, &names[taken..])),
        ["*", rest @ ..] => !names.is_empty() && segments(rest, &names[1..]),
        [name, rest @ ..] => names.first() == Some(name) && segments(rest, &names[1..]),
    }
}

fn host_matches(pattern: &str, host: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('.').collect();
    let host: Vec<&str> = host.split('.').collect();
    match pattern.as_slice() {
        ["**", rest @ ..] => host.len() > rest.len() && host.ends_with(rest),
        ["*", rest @ ..] => host.len() == rest.len() + 1 && host.ends_with(rest),
        _ => pattern == host,
    }
}
