//! Manifests in JSON: `package.json`, its lock, `composer.json`, `deno.json`.

use serde_json::Value;

use super::tables::{Table, differing, inner, json, only_more, sides};
use super::{Change, STEERS, is_runner};
use crate::flags::Found;
use crate::words;

/// Keys of a package that say what it is and needs, not how it is tested.
const PACKAGE: &[&str] = &[
    "name",
    "version",
    "description",
    "keywords",
    "homepage",
    "bugs",
    "license",
    "licenses",
    "author",
    "authors",
    "contributors",
    "maintainers",
    "funding",
    "files",
    "main",
    "module",
    "types",
    "typings",
    "typesVersions",
    "exports",
    "imports",
    "browser",
    "man",
    "directories",
    "repository",
    "peerDependencies",
    "peerDependenciesMeta",
    "bundledDependencies",
    "bundleDependencies",
    "sideEffects",
    "private",
    "publishConfig",
    "engines",
    "os",
    "cpu",
    "type",
    "unpkg",
    "jsdelivr",
    "readme",
    "icon",
    "displayName",
    "categories",
    "contributes",
    "activationEvents",
    "$schema",
    "support",
    "suggest",
];
const DEPENDENCIES: &[&str] = &["dependencies", "devDependencies", "optionalDependencies"];
/// Scripts that run by themselves.
const LIFECYCLE: &[&str] = &[
    "preinstall",
    "install",
    "postinstall",
    "prepare",
    "preprepare",
    "postprepare",
    "prepublish",
    "prepublishOnly",
    "dependencies",
    "test",
    "pretest",
    "posttest",
    "start",
    "restart",
];

pub(super) fn package(change: &Change<'_>) -> Vec<Found> {
    let (before, after) = match sides(change, json) {
        Ok(sides) => sides,
        Err(found) => return found,
    };
    let mut found = Vec::new();
    for key in differing(&before, &after) {
        let (old, new) = (inner(&before, key), inner(&after, key));
        match key {
            "scripts" => found.extend(scripts(change, &old, &new)),
            "workspaces" if only_more(before.get(key), after.get(key)) => {}
            "bin" => {
                let taken = differing(&old, &new).into_iter().filter(|name| is_runner(name));
                found.extend(taken.map(|name| change.key(&format!("bin.{name}"), TAKES)));
                let own = after.get("name").and_then(Value::as_str).unwrap_or_default();
                if after.get(key).is_some_and(Value::is_string) && is_runner(own) {
                    found.push(change.key(key, TAKES));
                }
            }
            key if DEPENDENCIES.contains(&key) => {
                found.extend(dependencies(change, key, &old, &new));
            }
            key if PACKAGE.contains(&key) || change.is_new_and_aside() => {}
            key => found.push(change.key(key, STEERS)),
        }
    }
    found
}

const TAKES: &str = "takes the name of a program that checks run";

/// A script that was there, that runs by itself, or that a check names.
fn scripts(change: &Change<'_>, old: &Table, new: &Table) -> Vec<Found> {
    let named = |name: &str| {
        let checks = &change.contract.checks;
        checks
            .iter()
            .any(|check| words::commands(&check.run).iter().flatten().any(|word| word == name))
    };
    let hooks = |name: &str| {
        let of = |prefix| name.strip_prefix(prefix).is_some_and(|other| old.contains_key(other));
        of("pre") || of("post")
    };
    let steers = |name: &&str| {
        old.contains_key(*name)
            || !change.is_new_and_aside()
                && (LIFECYCLE.contains(name) || named(name) || hooks(name))
            || name.contains("install")
    };
    let steering = differing(old, new).into_iter().filter(steers);
    steering.map(|name| change.key(&format!("scripts.{name}"), "is what checks may run")).collect()
}

/// A dependency that comes from this machine, or that checks are run by.
fn dependencies(change: &Change<'_>, key: &str, old: &Table, new: &Table) -> Vec<Found> {
    let steers = |name: &&str| {
        let (before, now) = (old.get(*name), new.get(*name).and_then(Value::as_str));
        let Some(now) = now else { return is_runner(name) };
        let elsewhere = ["file:", "link:", "portal:", "git", "http", "npm:", "patch:", "exec:"];
        let moved = elsewhere.iter().any(|start| now.starts_with(start)) || now.contains('/');
        moved && (before.is_some() || is_runner(name)) || before.is_some() && is_runner(name)
    };
    let steering = differing(old, new).into_iter().filter(steers);
    steering
        .map(|name| change.key(&format!("{key}.{name}"), "is what checks may be run by"))
        .collect()
}

/// The lock of npm: another copy of what checks are run by.
pub(super) fn lock(change: &Change<'_>) -> Vec<Found> {
    let (before, after) = match sides(change, json) {
        Ok(sides) => sides,
        Err(found) => return found,
    };
    let mut found = Vec::new();
    for section in ["packages", "dependencies"] {
        let (old, new) = (inner(&before, section), inner(&after, section));
        let steers = |path: &&str| {
            let name = path.rsplit_once("node_modules/").map_or(*path, |(_, name)| name);
            !path.is_empty() && is_runner(name) && old.contains_key(*path)
        };
        let steering = differing(&old, &new).into_iter().filter(steers);
        found.extend(steering.map(|path| change.key(path, "is what checks may be run by")));
    }
    found
}

pub(super) fn composer(change: &Change<'_>) -> Vec<Found> {
    const KEYS: &[&str] = &[
        "require",
        "require-dev",
        "autoload",
        "conflict",
        "replace",
        "provide",
        "abandoned",
        "time",
        "non-feature-branches",
    ];
    let (before, after) = match sides(change, json) {
        Ok(sides) => sides,
        Err(found) => return found,
    };
    let mut found = Vec::new();
    for key in differing(&before, &after) {
        let (old, new) = (inner(&before, key), inner(&after, key));
        match key {
            "autoload" if old.get("files") != new.get("files") => {
                found.push(change.key(key, STEERS));
            }
            key if KEYS.contains(&key) || PACKAGE.contains(&key) => {}
            key => found.push(change.key(key, STEERS)),
        }
    }
    found
}

/// Deno's file may hold comments; where it does, any change matters.
pub(super) fn deno(change: &Change<'_>) -> Vec<Found> {
    const KEYS: &[&str] = &["name", "version", "exports", "publish", "license"];
    let (before, after) = match sides(change, json) {
        Ok(sides) => sides,
        Err(found) => return found,
    };
    let mut found = Vec::new();
    for key in differing(&before, &after) {
        match key {
            "imports" => found.extend(imports(change, &inner(&before, key), &inner(&after, key))),
            key if KEYS.contains(&key) => {}
            key => found.push(change.key(key, STEERS)),
        }
    }
    found
}

/// A name that stood for something else, or that tests compare by, and means a file now; and
/// another copy of what they compare by.
fn imports(change: &Change<'_>, old: &Table, new: &Table) -> Vec<Found> {
    let steers = |name: &&str| {
        let compares = is_runner(name) || name.starts_with("@std/");
        let now = new.get(*name).and_then(Value::as_str).unwrap_or_default();
        let is_file = now.starts_with(['.', '/']) || now.starts_with("file:");
        let was_there = old.contains_key(*name);
        is_file && (was_there || compares) || was_there && compares
    };
    let steering = differing(old, new).into_iter().filter(steers);
    steering.map(|name| change.key(name, "is what checks may be run by")).collect()
}
