//! `pyproject.toml` and `setup.cfg`: what a project is and needs is ordinary; plug-ins of runners,
//! and how it is built and checked, is not.

use super::tables::{Table, differing, inner, sides, toml};
use super::{Change, STEERS, is_runner};
use crate::flags::Found;
use crate::flags::compare::Comparison;

/// What `[project]` says about what it is and needs.
const PROJECT: &[&str] = &[
    "name",
    "version",
    "description",
    "readme",
    "license",
    "license-files",
    "authors",
    "maintainers",
    "keywords",
    "classifiers",
    "urls",
    "dependencies",
    "optional-dependencies",
    "requires-python",
    "dynamic",
    "gui-scripts",
];
/// The same of tools that keep it in a table of their own.
const TOOLS: &[(&str, &[&str])] = &[
    (
        "poetry",
        &[
            "name",
            "version",
            "description",
            "readme",
            "license",
            "authors",
            "maintainers",
            "keywords",
            "classifiers",
            "homepage",
            "repository",
            "documentation",
            "urls",
            "dependencies",
            "dev-dependencies",
            "group",
            "extras",
            "packages",
            "include",
            "exclude",
            "package-mode",
        ],
    ),
    ("pdm", &["dev-dependencies", "version"]),
    ("uv", &["dev-dependencies"]),
    ("hatch", &["version", "metadata"]),
    ("setuptools", &["packages", "package-data", "include-package-data", "dynamic"]),
    ("setuptools_scm", &["version_file", "write_to"]),
    ("flit", &["metadata"]),
    ("towncrier", &[]),
    ("bumpversion", &[]),
    ("commitizen", &[]),
    ("semantic_release", &[]),
];
/// Tools of which nothing steers a check.
const FREE: &[&str] = &["towncrier", "bumpversion", "commitizen", "semantic_release", "git-cliff"];

pub(super) fn pyproject(change: &Change<'_>) -> Vec<Found> {
    let (before, after) = match sides(change, toml) {
        Ok(sides) => sides,
        Err(found) => return found,
    };
    if change.is_new_and_aside() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for key in differing(&before, &after) {
        match key {
            "project" => found.extend(project(change, &inner(&before, key), &inner(&after, key))),
            "dependency-groups" => {}
            "tool" => found.extend(tools(change, &inner(&before, key), &inner(&after, key))),
            "build-system" if is_plain_build(&before, &after) => {}
            key => found.push(change.key(key, STEERS)),
        }
    }
    found
}

/// The first of its kind, and no code of the project's own.
fn is_plain_build(before: &Table, after: &Table) -> bool {
    let build = inner(after, "build-system");
    !before.contains_key("build-system") && !build.contains_key("backend-path")
}

fn project(change: &Change<'_>, before: &Table, after: &Table) -> Vec<Found> {
    let mut found = Vec::new();
    for key in differing(before, after) {
        match key {
            "scripts" => {
                let (old, new) = (inner(before, key), inner(after, key));
                let taken = differing(&old, &new).into_iter().filter(|name| is_runner(name));
                found.extend(taken.map(|name| {
                    change.key(
                        &format!("project.scripts.{name}"),
                        "takes the name of a program that checks run",
                    )
                }));
            }
            "entry-points" => {
                let (old, new) = (inner(before, key), inner(after, key));
                let plugs = |group: &&str| {
                    [
                        "pytest",
                        "nose",
                        "flake8",
                        "pylint",
                        "mypy",
                        "distutils",
                        "setuptools",
                        "console",
                        "hypothesis",
                    ]
                    .iter()
                    .any(|runner| group.starts_with(runner))
                };
                let groups = differing(&old, &new).into_iter().filter(plugs);
                found.extend(groups.map(|group| {
                    change
                        .key(&format!("project.entry-points.{group}"), "plugs into what checks run")
                }));
            }
            key if PROJECT.contains(&key) => {}
            key => found.push(change.key(&format!("project.{key}"), STEERS)),
        }
    }
    found
}

fn tools(change: &Change<'_>, before: &Table, after: &Table) -> Vec<Found> {
    let mut found = Vec::new();
    for tool in differing(before, after).into_iter().filter(|tool| !FREE.contains(tool)) {
        let known = TOOLS.iter().find(|(name, _)| *name == tool).map(|(_, keys)| *keys);
        let (old, new) = (inner(before, tool), inner(after, tool));
        match known {
            Some(allowed) => {
                let steering =
                    differing(&old, &new).into_iter().filter(|key| !allowed.contains(key));
                found.extend(steering.map(|key| change.key(&format!("tool.{tool}.{key}"), STEERS)));
            }
            None => found.push(change.key(&format!("tool.{tool}"), STEERS)),
        }
    }
    found
}

/// Sections of `setup.cfg` that say what a project is and needs.
const SECTIONS: &[&str] = &[
    "metadata",
    "options",
    "options.extras_require",
    "options.packages.find",
    "options.package_data",
];

pub(super) fn setup_cfg(change: &Change<'_>) -> Vec<Found> {
    let before = change.before.unwrap_or_default();
    let comparison = Comparison::of(before, change.after);
    let (old, new) = (String::from_utf8_lossy(before), String::from_utf8_lossy(change.after));
    let (old, new) = (sections(&old), sections(&new));
    let steering = comparison.changed().find_map(|(line, added)| {
        let at = usize::try_from(line.number).unwrap_or(usize::MAX).saturating_sub(1);
        let section = *if added { &new } else { &old }.get(at)?;
        let runs = line.text.trim_start().starts_with("cmdclass");
        let why = format!("its section [{}] {STEERS}", names::printable(section.as_bytes()));
        (runs || !SECTIONS.contains(&section)).then(|| match added {
            true => Found::at(line.number, why),
            false => Found::whole(why),
        })
    });
    steering.into_iter().collect()
}

/// The section that each line is in; a heading is in its own.
fn sections(text: &str) -> Vec<&str> {
    let sections = text.lines().scan("", |section, line| {
        let head = line.trim_end().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        *section = head.map_or(*section, str::trim);
        Some(*section)
    });
    sections.collect()
}
