//! `Cargo.toml`: a dependency, a feature, a crate more is ordinary. The Cargo Book, "The Manifest
//! Format".

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::tables::{Table, as_table, differing, only_more, toml};
use super::{Change, STEERS};
use crate::flags::Found;

/// Keys of a package that say what it is.
const PACKAGE: &[&str] = &[
    "name",
    "version",
    "description",
    "authors",
    "license",
    "license-file",
    "repository",
    "homepage",
    "documentation",
    "keywords",
    "categories",
    "readme",
    "exclude",
    "include",
    "publish",
    "metadata",
    "edition",
    "rust-version",
    "default-run",
    "links",
];
/// Keys of a target that say what it is, not how it is tested.
const TARGET: &[&str] = &[
    "name",
    "path",
    "crate-type",
    "proc-macro",
    "doc",
    "doc-scrape-examples",
    "edition",
    "required-features",
];
/// Keys of a dependency that say which version of it, not which.
const DEPENDENCY: &[&str] =
    &["version", "features", "default-features", "optional", "workspace", "public", "artifact"];
/// Keys of a profile that tests can tell.
const PROFILE: &[&str] = &["debug-assertions", "overflow-checks", "panic", "rustflags", "inherits"];
/// Crates that the compiler brings along; a dependency under such a name takes their place.
const COMPILERS: &[&str] = &["std", "core", "alloc", "test", "proc_macro", "proc-macro"];

pub(super) fn manifest(change: &Change<'_>) -> Vec<Found> {
    let Some(after) = toml(change.after) else {
        return vec![Found::whole(format!("{STEERS}, and can't be read"))];
    };
    let Some(before) = change.before.and_then(toml) else { return new(change, &after) };
    let mut manifest = Manifest { change, found: Vec::new() };
    for key in differing(&before, &after) {
        manifest.top(key, before.get(key), after.get(key));
    }
    manifest.found
}

/// A new crate steers none that is there, unless it makes itself the root of others.
fn new(change: &Change<'_>, after: &Table) -> Vec<Found> {
    const ROOT: &[&str] = &["workspace", "patch", "replace", "profile"];
    if change.before.is_some() {
        return vec![Found::whole(format!("{STEERS}, and could not be read before"))];
    }
    let roots = ROOT.iter().filter(|key| after.contains_key(**key));
    roots.map(|key| change.key(key, "could make it the root of other crates")).collect()
}

struct Manifest<'c> {
    change: &'c Change<'c>,
    found: Vec<Found>,
}

impl Manifest<'_> {
    fn flag(&mut self, key: &str) {
        self.found.push(self.change.key(key, STEERS_TESTS));
    }

    fn top(&mut self, key: &str, before: Option<&Value>, after: Option<&Value>) {
        match key {
            "package" | "project" => self.only(key, before, after, PACKAGE),
            "features" | "badges" => {}
            "dependencies" | "dev-dependencies" | "dev_dependencies" => {
                self.dependencies(key, before, after);
            }
            "build-dependencies" | "build_dependencies" => self.dependencies(key, before, after),
            "target" => self.targets(before, after),
            "lib" => self.lib(before, after),
            "bin" | "example" | "bench" => self.built(key, before, after),
            "workspace" => self.workspace(before, after),
            "profile" => self.profiles(key, before, after),
            // Tests by hand, patches, lints, and what is not known.
            other => self.flag(other),
        }
    }

    /// Both sides as tables; what is no table is an empty one.
    fn tables(before: Option<&Value>, after: Option<&Value>) -> (Table, Table) {
        (as_table(before), as_table(after))
    }

    /// Only these keys may differ.
    fn only(
        &mut self,
        name: &str,
        before: Option<&Value>,
        after: Option<&Value>,
        allowed: &[&str],
    ) {
        let (before, after) = Self::tables(before, after);
        for key in differing(&before, &after) {
            if !allowed.contains(&key) {
                self.flag(&format!("{name}.{key}"));
            }
        }
    }

    fn dependencies(&mut self, name: &str, before: Option<&Value>, after: Option<&Value>) {
        let (before, after) = Self::tables(before, after);
        for key in differing(&before, &after) {
            let (old, new) = (before.get(key), after.get(key));
            let Some(new) = new else { continue };
            let full = format!("{name}.{key}");
            if COMPILERS.contains(&key) {
                self.flag(&full);
            } else if let Some(old) = old {
                self.redirected(&full, old, new);
            }
        }
    }

    /// A dependency that was there is somebody else's code now.
    fn redirected(&mut self, full: &str, old: &Value, new: &Value) {
        let (old, new) = (as_table(Some(old)), as_table(Some(new)));
        if differing(&old, &new).iter().any(|key| !DEPENDENCY.contains(key)) {
            self.found.push(self.change.key(full, "comes from elsewhere now"));
        }
    }

    /// `[target.'cfg(…)'.dependencies]`.
    fn targets(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let (before, after) = Self::tables(before, after);
        for target in differing(&before, &after) {
            let (old, new) = Self::tables(before.get(target), after.get(target));
            for key in differing(&old, &new) {
                let full = format!("target.{target}.{key}");
                match key {
                    "dependencies" | "dev-dependencies" | "build-dependencies" => {
                        self.dependencies(&full, old.get(key), new.get(key));
                    }
                    _ => self.flag(&full),
                }
            }
        }
    }

    fn lib(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let named = before.is_none();
        let (before, after) = Self::tables(before, after);
        for key in differing(&before, &after) {
            // A library that gets its first table may say where it has always been.
            let ordinary = TARGET.contains(&key) && (key != "path" || named && before.is_empty());
            let ordinary = ordinary && (key != "path" || is_default(after.get(key)));
            if !ordinary {
                self.flag(&format!("lib.{key}"));
            }
        }
    }

    /// `[[bin]]` and the like, by name.
    fn built(&mut self, name: &str, before: Option<&Value>, after: Option<&Value>) {
        let list = |value: Option<&Value>| -> Vec<Table> {
            let array = value.and_then(Value::as_array).cloned().unwrap_or_default();
            array.into_iter().filter_map(|value| value.as_object().cloned()).collect()
        };
        let (before, after) = (list(before), list(after));
        // Of two with one name, the first.
        let by_name: BTreeMap<_, _> = before.iter().rev().map(|old| (name_of(old), old)).collect();
        let empty = Table::new();
        for new in &after {
            let old = by_name.get(&name_of(new)).copied();
            for key in differing(old.unwrap_or(&empty), new) {
                let moved = key == "path" && old.is_some();
                if moved || !TARGET.contains(&key) {
                    self.flag(&format!("{name}.{key}"));
                }
            }
        }
        let left: BTreeSet<_> = after.iter().map(name_of).collect();
        let gone = by_name.keys().any(|name| !left.contains(name));
        if gone && name == "bin" {
            self.flag(name);
        }
    }

    fn workspace(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let new = before.is_none();
        let (before, after) = Self::tables(before, after);
        for key in differing(&before, &after) {
            let (old, now) = (before.get(key), after.get(key));
            let full = format!("workspace.{key}");
            match key {
                "dependencies" => self.dependencies(&full, old, now),
                "package" => self.only(&full, old, now, PACKAGE),
                "metadata" | "resolver" => {}
                "members" if only_more(old, now) => {}
                "default-members" if old.is_some() && only_more(old, now) => {}
                _ if new && key == "exclude" => {}
                _ => self.flag(&full),
            }
        }
    }

    fn profiles(&mut self, name: &str, before: Option<&Value>, after: Option<&Value>) {
        let (before, after) = Self::tables(before, after);
        for key in differing(&before, &after) {
            let full = format!("{name}.{key}");
            let (old, new) = (before.get(key), after.get(key));
            let nested = [old, new].into_iter().flatten().any(Value::is_object);
            if PROFILE.contains(&key) {
                self.flag(&full);
            } else if nested {
                self.profiles(&full, old, new);
            }
        }
    }
}

fn name_of(target: &Table) -> Option<&str> {
    target.get("name").and_then(Value::as_str)
}

const STEERS_TESTS: &str = "steers what is tested, or how";

fn is_default(path: Option<&Value>) -> bool {
    path.is_none_or(|path| path.as_str() == Some("src/lib.rs"))
}
