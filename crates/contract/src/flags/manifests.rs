//! Files that say how a project is built and checked, besides what it consists of. A dependency, a
//! version, a source file more is ordinary; what is run, and with what, is not.

mod cargo;
mod lines;
mod node;
mod python;
mod tables;

use super::{Altered, Found};
use crate::terms::Contract;
use crate::words;

/// What steers how checks run, in words.
const STEERS: &str = "it steers how checks run";

/// Looks at a file of this kind; `None` if it is no such file.
pub(super) fn look(contract: &Contract, altered: &Altered<'_>) -> Option<Vec<Found>> {
    let rule = rule(altered.name()).or_else(|| started(contract, altered.name()))?;
    if altered.opaque {
        return Some(vec![Found::whole(format!("{STEERS}, and can't be looked at"))]);
    }
    let Some(after) = altered.after else {
        // Without it there is nothing to steer by, which checks will tell: but for those files
        // that only restrict.
        return Some(vec![Found::whole(format!("{STEERS}, and is gone"))]);
    };
    let change = Change { contract, altered, before: altered.before, after };
    Some(match rule {
        Rule::Any => vec![Found::whole(STEERS)],
        Rule::AnyWhereChecksStart => change.anything_where_checks_start(),
        Rule::Cargo => cargo::manifest(&change),
        Rule::Package => node::package(&change),
        Rule::NodeLock => node::lock(&change),
        Rule::Composer => node::composer(&change),
        Rule::Deno => node::deno(&change),
        Rule::Pyproject => python::pyproject(&change),
        Rule::SetupCfg => python::setup_cfg(&change),
        Rule::Lines(lines) => lines::look(&change, lines),
    })
}

/// A changed manifest.
struct Change<'a> {
    contract: &'a Contract,
    altered: &'a Altered<'a>,
    before: Option<&'a [u8]>,
    after: &'a [u8],
}

impl Change<'_> {
    /// A new file far from where checks start steers nothing that was there.
    fn is_new_and_aside(&self) -> bool {
        self.before.is_none() && !self.altered.is_where_checks_start(self.contract)
    }

    fn anything_where_checks_start(&self) -> Vec<Found> {
        if self.is_new_and_aside() { Vec::new() } else { vec![Found::whole(STEERS)] }
    }

    /// A key of the file as it is now.
    fn key(&self, key: &str, what: &str) -> Found {
        let last = key.rsplit('.').next().unwrap_or(key);
        Found::by(last, format!("its `{}` {what}", names::printable(key.as_bytes())))
    }
}

/// Files that only matter where a check starts the program that obeys them: the names are usual in
/// products, too.
fn started(contract: &Contract, name: &str) -> Option<Rule> {
    let programs: &[&str] = match name {
        "tasks.py" => &["inv", "invoke"],
        "dodo.py" => &["doit"],
        "fabfile.py" => &["fab"],
        _ => return None,
    };
    let starts = |words: &words::Words| {
        words::program(words).is_some_and(|(program, _)| programs.contains(&program))
    };
    let started =
        contract.checks.iter().any(|check| words::commands(&check.run).iter().any(starts));
    started.then_some(Rule::Any)
}

/// How a file is looked at.
#[derive(Clone, Copy)]
enum Rule {
    /// Any change matters.
    Any,
    /// The same, but for a new one that lies aside.
    AnyWhereChecksStart,
    Cargo,
    Package,
    NodeLock,
    Composer,
    Deno,
    Pyproject,
    SetupCfg,
    /// Line by line.
    Lines(&'static lines::Lines),
}

/// Files by name.
static NAMES: &[(&[&str], Rule)] = &[
    (&["Cargo.toml"], Rule::Cargo),
    (&["package.json"], Rule::Package),
    (&["package-lock.json", "npm-shrinkwrap.json"], Rule::NodeLock),
    (&["composer.json"], Rule::Composer),
    (&["deno.json", "deno.jsonc"], Rule::Deno),
    (&["pyproject.toml"], Rule::Pyproject),
    (&["setup.cfg"], Rule::SetupCfg),
    (&["go.mod"], Rule::Lines(&lines::GO_MOD)),
    (&["go.work"], Rule::Lines(&lines::GO_WORK)),
    (&["Gemfile"], Rule::Lines(&lines::GEMFILE)),
    (&["pom.xml"], Rule::Lines(&lines::POM)),
    (&["CMakeLists.txt"], Rule::Lines(&lines::CMAKE)),
    (&["meson.build"], Rule::Lines(&lines::MESON)),
    (&["mix.exs"], Rule::Lines(&lines::MIX)),
    (&["Package.swift"], Rule::Lines(&lines::SWIFT)),
    (&["setup.py"], Rule::Lines(&lines::SETUP_PY)),
    (&["build.sbt"], Rule::Lines(&lines::SBT)),
    (&["Makefile", "makefile", "GNUmakefile", "BSDmakefile"], Rule::Lines(&lines::MAKEFILE)),
    (
        &["yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "Gemfile.lock"],
        Rule::Lines(&lines::LOCK),
    ),
    (&["BUILD", "BUILD.bazel", "dune"], Rule::AnyWhereChecksStart),
    (ALWAYS, Rule::Any),
];

/// Files of which every change matters.
const ALWAYS: &[&str] = &[
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "pnpmfile.js",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    "bunfig.toml",
    "global.json",
    "NuGet.config",
    "nuget.config",
    "Directory.Build.props",
    "Directory.Build.targets",
    "Directory.Packages.props",
    ".python-version",
    ".node-version",
    ".nvmrc",
    ".ruby-version",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    "gradle.properties",
    "init.gradle",
    "Rakefile",
    "rakefile.rb",
    "Rakefile.rb",
    "gulpfile.js",
    "Gruntfile.js",
    "lerna.json",
    "nx.json",
    "turbo.json",
    ".mocharc",
    ".babelrc",
    ".babelrc.json",
    ".swcrc",
    ".env.test",
    "hatch.toml",
    "pdm.toml",
    "uv.toml",
    "pip.conf",
    "Pipfile",
    "WORKSPACE",
    "WORKSPACE.bazel",
    "MODULE.bazel",
    ".bazelrc",
    "dune-project",
    "rebar.config",
    "project.clj",
    "deps.edn",
    "stack.yaml",
    "cabal.project",
    "flake.nix",
    "shell.nix",
    "default.nix",
    ".envrc",
    "configure",
    "configure.ac",
    "Makefile.am",
    "Makefile.in",
    "wscript",
    "SConstruct",
    "meson_options.txt",
    "justfile",
    "Justfile",
    ".justfile",
    "Taskfile.yml",
    "Taskfile.yaml",
    "Earthfile",
];

fn rule(name: &str) -> Option<Rule> {
    let known = NAMES.iter().find(|(names, _)| names.contains(&name));
    known.map(|(_, rule)| *rule).or_else(|| by_kind(name))
}

/// Names of all kinds of manifests, and of those of which any change matters one.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let by_name = NAMES.iter().map(|(names, _)| *names).filter_map(<[_]>::first).copied();
    by_name.chain(rows::NAMED_BY_KIND.iter().copied())
}

fn by_kind(name: &str) -> Option<Rule> {
    let (stem, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "mk" | "mak" => Rule::Lines(&lines::MAKEFILE),
        "cmake" => Rule::Lines(&lines::CMAKE),
        "gradle" | "kts" if stem == "build" || stem == "build.gradle" => {
            Rule::Lines(&lines::GRADLE)
        }
        "gradle" => Rule::Lines(&lines::GRADLE),
        "kts" if stem.ends_with(".gradle") => Rule::Lines(&lines::GRADLE),
        "csproj" | "fsproj" | "vbproj" => Rule::Lines(&lines::DOTNET),
        "props" | "targets" | "rake" => Rule::Any,
        "cabal" => Rule::Lines(&lines::CABAL),
        "gemspec" | "podspec" => Rule::Lines(&lines::GEMSPEC),
        "json" if stem == "tsconfig" || stem.starts_with("tsconfig.") || stem == "jsconfig" => {
            Rule::AnyWhereChecksStart
        }
        "js" | "cjs" | "mjs" | "ts" | "mts" | "json"
            if matches!(
                stem,
                "vite.config" | "babel.config" | "webpack.config" | "rollup.config"
            ) =>
        {
            Rule::AnyWhereChecksStart
        }
        "txt" | "in"
            if stem.starts_with("requirements")
                || stem.ends_with("-requirements")
                || stem == "constraints" =>
        {
            Rule::Lines(&lines::REQUIREMENTS)
        }
        _ => return None,
    })
}

/// Programs that tests and lints are run by: a dependency of such a name is one of those that
/// decide. Scoped names count by what follows the slash.
fn is_runner(name: &str) -> bool {
    const RUNNERS: &[&str] = &[
        "jest",
        "vitest",
        "mocha",
        "ava",
        "tap",
        "tape",
        "jasmine",
        "karma",
        "cypress",
        "playwright",
        "test",
        "chai",
        "expect",
        "sinon",
        "should",
        "assert",
        "c8",
        "nyc",
        "ts-jest",
        "babel-jest",
        "ts-node",
        "tsx",
        "eslint",
        "typescript",
        "tsc",
        "prettier",
        "biome",
        "npm",
        "yarn",
        "pnpm",
        "node",
        "pytest",
        "pluggy",
        "unittest2",
        "nose",
        "nose2",
        "coverage",
        "tox",
        "nox",
        "ruff",
        "mypy",
        "flake8",
        "pylint",
        "pyright",
        "hypothesis",
        "setuptools",
        "rspec",
        "minitest",
        "rake",
        "test-unit",
        "phpunit",
        "pest",
        "sh",
        "bash",
        "make",
        "cargo",
        "python",
        "python3",
        "go",
        "ctest",
        "cross-env",
        "npm-run-all",
        "npm-run-all2",
        "concurrently",
        "turbo",
        "nx",
    ];
    let own = name.rsplit('/').next().unwrap_or(name);
    RUNNERS.contains(&own) || own.starts_with("pytest-") || own.starts_with("jest-")
}

#[cfg(test)]
mod rows;

#[cfg(test)]
mod tests {
    use crate::expressions::Expression;

    #[test]
    fn every_expression_is_one() {
        let mut all: Vec<&Expression> = Vec::new();
        for lines in super::lines::ALL {
            all.extend([lines.ordinary, lines.steering].into_iter().flatten());
        }
        assert!(all.iter().all(|expression| expression.is_some()));
    }
}
