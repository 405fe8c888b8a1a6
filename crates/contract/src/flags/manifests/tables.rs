//! Manifests as tables of keys, whether they are written in TOML or in JSON.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Change, STEERS};
use crate::flags::Found;

pub(super) type Table = Map<String, Value>;

/// Reads a text; `None` if it is no table.
pub(super) type Read = fn(&[u8]) -> Option<Table>;

pub(super) fn toml(text: &[u8]) -> Option<Table> {
    toml::from_str(str::from_utf8(text).ok()?).ok()
}

pub(super) fn json(text: &[u8]) -> Option<Table> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    serde_json::from_slice(text).ok()
}

/// Both sides of a change; what was not there is empty. What can't be read is found.
pub(super) fn sides(change: &Change<'_>, read: Read) -> Result<(Table, Table), Vec<Found>> {
    let unreadable = |when: &str| vec![Found::whole(format!("{STEERS}, and {when} be read"))];
    let after = read(change.after).ok_or_else(|| unreadable("can't"))?;
    let before = match change.before {
        Some(before) => read(before).ok_or_else(|| unreadable("could not"))?,
        None => Table::new(),
    };
    Ok((before, after))
}

/// The keys whose values differ, each once, in order.
pub(super) fn differing<'t>(before: &'t Table, after: &'t Table) -> Vec<&'t str> {
    let mut keys: Vec<&str> = before.keys().chain(after.keys()).map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|key| before.get(*key) != after.get(*key));
    keys
}

/// What is below a key; what is no table is an empty one.
pub(super) fn inner(table: &Table, key: &str) -> Table {
    as_table(table.get(key))
}

pub(super) fn as_table(value: Option<&Value>) -> Table {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Whether all that was in a list still is.
pub(super) fn only_more(before: Option<&Value>, after: Option<&Value>) -> bool {
    let list = |value: Option<&Value>| -> BTreeSet<String> {
        let list = value.and_then(Value::as_array).into_iter().flatten();
        list.map(Value::to_string).collect()
    };
    list(before).is_subset(&list(after))
}
