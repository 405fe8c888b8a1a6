//! A model's answer made fit for the conversation, whatever it is.
//!
//! Afterwards each call has an id that no other call of the session has, a name that every
//! provider takes, and arguments of a bearable length; calls that can't be told apart or are too
//! many are not carried out, and each is told so.

use std::collections::HashSet;

use models::{Part, ToolCall};

use crate::context::Window;
use crate::text::middle_cut;

/// More calls than this in one answer are too many.
const MOST_CALLS: usize = 32;
/// Longer ids and names than this are made up or broken.
const LONGEST_NAME: usize = 64;

/// An answer that is fit.
#[derive(Debug, Default)]
pub(crate) struct Fit {
    /// What the model will see of it.
    pub(crate) parts: Vec<Part>,
    /// Its calls in order, and for those that can't be carried out, why.
    pub(crate) calls: Vec<(ToolCall, Option<String>)>,
}

impl Fit {
    /// Makes an answer fit. `taken` are the ids of all earlier calls; those of this answer are
    /// added.
    pub(crate) fn new(parts: Vec<Part>, taken: &mut HashSet<String>, window: Window) -> Self {
        let most = usize::try_from(window.most_of_text()).unwrap_or(usize::MAX);
        let mut fit = Self::default();
        let mut given = HashSet::new();
        for part in parts {
            match part {
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(text) => fit.parts.push(Part::Text(middle_cut(&text, most))),
                Part::Reasoning { text, opaque } => fit.think(text, opaque, most),
                Part::ToolCall(call) => fit.call(call, &mut given, taken, most),
                // Neither is for a model to say.
                Part::Image { .. } | Part::ToolResult { .. } => {}
            }
        }
        fit
    }

    /// All its text.
    pub(crate) fn text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.parts.iter().filter_map(text).collect()
    }

    /// All the reasoning that may be shown.
    pub(crate) fn reasoning(&self) -> String {
        let text = |part: &Part| match part {
            Part::Reasoning { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.parts.iter().filter_map(text).collect()
    }

    /// Reasoning goes back unchanged or not at all: a signature is over all of it.
    fn think(&mut self, text: String, opaque: Option<serde_json::Value>, most: usize) {
        let length = opaque.as_ref().map_or(0, |opaque| opaque.to_string().len()) + text.len();
        if length <= most {
            self.parts.push(Part::Reasoning { text, opaque });
        }
    }

    fn call(
        &mut self,
        mut call: ToolCall,
        given: &mut HashSet<String>,
        taken: &mut HashSet<String>,
        most: usize,
    ) {
        if self.calls.len() >= MOST_CALLS {
            return;
        }
        let mut why = None;
        if self.calls.len() + 1 == MOST_CALLS {
            why = Some(format!(
                "this and what follows it was not carried out: {MOST_CALLS} calls in one answer are too \
                 many"
            ));
        }
        if !call.id.is_empty() && !given.insert(call.id.clone()) {
            why = Some(format!(
                "not carried out: two calls of one answer had the id \"{}\"; call again with ids of \
                 their own",
                names::printable(call.id.as_bytes())
            ));
        }
        call.id = unique(&call.id, taken);
        call.name = name(&call.name);
        if call.arguments.len() > most {
            let length = call.arguments.len();
            why = Some(format!(
                "not carried out: {length} bytes of arguments are too many; {most} are the most, so \
                 take smaller steps"
            ));
            "{}".clone_into(&mut call.arguments);
        }
        self.parts.push(Part::ToolCall(call.clone()));
        self.calls.push((call, why));
    }
}

/// The id itself, if it is one and free; otherwise one like it.
fn unique(id: &str, taken: &mut HashSet<String>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain: String = id.chars().filter(|c| is_plain(*c)).take(LONGEST_NAME).collect();
    let stem = if plain.is_empty() { "call" } else { plain.as_str() };
    let mut candidate = stem.to_owned();
    let mut count = taken.len();
    while !taken.insert(candidate.clone()) || candidate == "call" {
        count += 1;
        let short = stem.get(..stem.len().min(LONGEST_NAME - 12)).unwrap_or(stem);
        candidate = format!("{short}-{count}");
    }
    candidate
}

/// A name that every provider takes back. It need not be a tool's.
fn name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = name.chars().map(plain).take(LONGEST_NAME).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(calls: &[(&str, &str, &str)], taken: &mut HashSet<String>) -> Fit {
        let call = |(id, name, arguments): &(&str, &str, &str)| {
            Part::ToolCall(ToolCall {
                id: (*id).into(),
                name: (*name).into(),
                arguments: (*arguments).into(),
            })
        };
        Fit::new(calls.iter().map(call).collect(), taken, Window { all: 9_000, output: 1_000 })
    }

    #[test]
    fn ids_are_made_unique_and_a_double_is_not_carried_out() {
        let mut taken = HashSet::new();
        let first = fit(&[("a", "ls", ""), ("a", "ls", ""), ("", "ls", "")], &mut taken);
        let ids: Vec<_> = first.calls.iter().map(|(call, _)| call.id.as_str()).collect();
        assert_eq!(ids, ["a", "a-2", "call-3"]);
        let carried: Vec<_> = first.calls.iter().map(|(_, why)| why.is_none()).collect();
        assert_eq!(carried, [true, false, true]);
        // Some providers count from 0 in each answer.
        let again = fit(&[("a", "ls", "")], &mut taken);
        assert!(again.calls[0].1.is_none() && again.calls[0].0.id != "a");
    }

    #[test]
    fn names_and_arguments_are_brought_into_bounds() {
        let long = "x".repeat(100_000);
        let fit =
            fit(&[("1", "", ""), ("2", "r\nm", ""), ("3", &long, &long)], &mut HashSet::new());
        let names: Vec<_> = fit.calls.iter().map(|(call, _)| call.name.len()).collect();
        assert_eq!(names, [7, 3, 64]);
        assert!(fit.calls[2].1.as_ref().unwrap().contains("100000 bytes of arguments"));
    }

    #[test]
    fn too_many_calls_are_dropped() {
        let calls: Vec<_> = (0..100).map(|_| ("", "ls", "")).collect();
        let fit = fit(&calls, &mut HashSet::new());
        assert_eq!((fit.calls.len(), fit.parts.len()), (MOST_CALLS, MOST_CALLS));
        assert!(fit.calls.last().unwrap().1.is_some());
    }
}
