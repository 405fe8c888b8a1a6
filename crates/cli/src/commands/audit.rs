//! `loop audit`: a ledger as a trace that reads from top to bottom.

use std::io::{self, Write as _};

use api::{AuditRecord, AuditReport, Engine, exit};
use serde_json::Value;

use super::runs::chain;
use super::{Done, answer};
use crate::args::OneRun;
use crate::console::{Console, Paint, shortened, shown, shown_command};

/// A value longer than this is shortened; `--json` has it whole.
const VALUE_WIDTH: usize = 120;
/// A list longer than this is counted instead of shown.
const LIST_LENGTH: usize = 16;
/// This much of a digest names it: `sha256:` and 12 digits.
const DIGEST_WIDTH: usize = 7 + 12;

pub(super) fn audit(args: OneRun, console: &mut Console, engine: &dyn Engine) -> Done {
    let json = args.json;
    let report = engine.audit(args.into())?;
    answer(&report, json, console, show_trace)?;
    Ok(if report.chain.intact { 0 } else { exit::NO })
}

fn show_trace(report: &AuditReport, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    for record in &report.records {
        writeln!(console.out, "{}", line(record, paint))?;
    }
    for note in &report.chain.notes {
        writeln!(console.out, "{}", paint.yellow(&shown(note)))?;
    }
    let verdict = chain(&report.chain);
    let verdict = if report.chain.intact { paint.green(&verdict) } else { paint.red(&verdict) };
    writeln!(console.out, "{verdict}  {}", paint.dim(&shown(&report.ledger)))
}

fn line(record: &AuditRecord, paint: Paint) -> String {
    let time = record.time.to_string();
    // The date is in the run's id; the time of day is what tells records apart.
    let clock = time.split_once('T').map_or(time.as_str(), |(_, clock)| clock);
    let kind = format!("{:<17}", shown(&record.kind));
    let mut text = format!(
        "{:>5}  {}  {}  {}",
        record.seq,
        paint.dim(clock.trim_end_matches('Z')),
        paint_kind(&record.kind, &kind, paint),
        body(&record.body),
    );
    if record.outcome_unknown {
        text.push_str(&format!("  {}", paint.yellow("outcome unknown")));
    }
    text.trim_end().to_owned()
}

fn paint_kind(kind: &str, text: &str, paint: Paint) -> String {
    match kind {
        "denied" | "limit" | "approval.refused" | "approval.capped" => paint.red(text),
        "learned" | "recovered" => paint.yellow(text),
        _ if kind.ends_with(".intent") => paint.cyan(text),
        _ => paint.bold(text),
    }
}

/// A decision as a sentence, an ask and an answer too, a result as what came of an intent, any
/// other body as `key=value` pairs.
fn body(body: &Value) -> String {
    let sentence = decision(body).or_else(|| answered(body)).or_else(|| asked(body));
    sentence.or_else(|| result(body)).unwrap_or_else(|| pairs(body))
}

/// `k7m2: exec git push by ask-before-push (~/.loop/config.toml:12): the reason`.
fn asked(body: &Value) -> Option<String> {
    let ask = shown(body.get("ask")?.as_str()?);
    let action = body.get("action")?;
    let kind = shown(action.get("action")?.as_str()?);
    Some(format!("{ask}: {kind} {}{}", object(action)?, why(body)))
}

/// `k7m2: run by ann (command)`, or `k7m2: deny by ann (terminal): the reason`.
fn answered(body: &Value) -> Option<String> {
    let ask = shown(body.get("ask")?.as_str()?);
    let answer = shown(body.get("answer")?.as_str()?);
    let by = by(body.get("by")?)?;
    let reason = body.get("reason").and_then(Value::as_str);
    let reason = reason.map(|reason| format!(": {}", shown(reason))).unwrap_or_default();
    Some(format!("{ask}: {answer} by {by}{reason}"))
}

/// `ann (terminal)`.
fn by(by: &Value) -> Option<String> {
    let (user, via) = (by.get("user")?.as_str()?, by.get("via")?.as_str()?);
    Some(format!("{} ({})", shown(user), shown(via)))
}

/// `of 3: exit=0 took_ms=12`
fn result(body: &Value) -> Option<String> {
    let intent = body.get("intent")?.as_u64()?;
    Some(format!("of {intent}: {}", pairs(body.get("result")?)))
}

/// `allow exec make -j2`, `deny exec git push by no-push (~/.loop/config.toml:12): the reason`, or,
/// where a person was asked, what became of it: `ask exec git push by …: the reason [timeout]`.
fn decision(body: &Value) -> Option<String> {
    let action = body.get("action")?;
    let kind = action.get("action")?.as_str()?;
    let outcome = body.get("outcome")?.as_str()?;
    let decided = format!("{} {} {}", shown(outcome), shown(kind), object(action)?);
    if outcome == "allow" {
        return Some(decided);
    }
    Some(format!("{decided}{}{}", why(body), became(body)))
}

/// ` by no-push (~/.loop/config.toml:12): the reason`.
fn why(body: &Value) -> String {
    let causes = body.get("decided_by").and_then(Value::as_array).map(Vec::as_slice);
    let causes: Vec<_> = causes.unwrap_or_default().iter().filter_map(cause).collect();
    let by = if causes.is_empty() { String::new() } else { format!(" by {}", causes.join(", ")) };
    let reason = body.get("reason").and_then(Value::as_str).unwrap_or_default();
    format!("{by}: {}", shown(reason))
}

/// ` [person, record 4: what they said]`, ` [approved, record 4]`; nothing where nobody was asked.
fn became(body: &Value) -> String {
    let because = body.get("because").and_then(Value::as_str);
    let approval = body.get("approval").and_then(Value::as_u64);
    let record = approval.map(|record| format!(", record {record}")).unwrap_or_default();
    let said = body.get("said").and_then(Value::as_str);
    let said = said.map(|said| format!(": {}", shown(said))).unwrap_or_default();
    match (because, approval) {
        (None | Some("verdict"), None) => String::new(),
        (Some(because), _) => format!(" [{}{record}{said}]", shown(because)),
        (None, Some(_)) => format!(" [approved{record}]"),
    }
}

/// What an action is about: a command as it would be typed, a tool and its words, anything else as
/// pairs.
fn object(action: &Value) -> Option<String> {
    let members = action.as_object()?;
    if let Some(program) = members.get("program").and_then(Value::as_str) {
        let args = members.get("args").and_then(Value::as_array).map(Vec::as_slice);
        let args = args.unwrap_or_default().iter().filter_map(Value::as_str);
        let words: Vec<_> = std::iter::once(program).chain(args).collect();
        return Some(shortened(&shown_command(&words), VALUE_WIDTH));
    }
    let name = members.get("name").and_then(Value::as_str);
    if let Some(tool) = name.filter(|_| members.get("action").is_some_and(|it| it == "tool")) {
        let words = members.get("words").and_then(Value::as_str).unwrap_or_default();
        return Some(shortened(
            format!("{} {}", shown(tool), shown(words)).trim_end(),
            VALUE_WIDTH,
        ));
    }
    let rest = members.iter().filter(|(name, _)| *name != "action");
    Some(pairs(&Value::Object(rest.map(|(name, value)| (name.clone(), value.clone())).collect())))
}

fn cause(cause: &Value) -> Option<String> {
    let rule = shown(cause.get("rule")?.as_str()?);
    let place = cause.get("origin").and_then(|origin| {
        let source = shown(origin.get("source")?.as_str()?);
        Some(format!(" ({source}:{})", origin.get("line")?))
    });
    Some(rule + &place.unwrap_or_default())
}

/// Nested keys are joined with dots.
fn pairs(body: &Value) -> String {
    let mut pairs = Vec::new();
    push_pairs("", body, &mut pairs);
    pairs.join(" ")
}

fn push_pairs(key: &str, value: &Value, pairs: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = shown(name);
                let key = if key.is_empty() { name } else { format!("{key}.{name}") };
                push_pairs(&key, member, pairs);
            }
        }
        Value::Null => {}
        Value::Array(items) if items.is_empty() => {}
        other if key.is_empty() => pairs.push(scalar(other)),
        other => pairs.push(format!("{key}={}", scalar(other))),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_digest(text) => text.chars().take(DIGEST_WIDTH).collect(),
        Value::String(text) => shortened(&shown_command(&[text]), VALUE_WIDTH),
        Value::Array(items) => list(items),
        other => shown(other.to_string()),
    }
}

/// SHA-256 with its prefix or without, or a Git commit.
fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or(text);
    matches!(hex.len(), 40 | 64) && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn list(items: &[Value]) -> String {
    let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    match words {
        Some(words) if words.len() <= LIST_LENGTH => {
            shortened(&format!("[{}]", shown_command(&words)), VALUE_WIDTH)
        }
        _ => format!("[{} items]", items.len()),
    }
}
