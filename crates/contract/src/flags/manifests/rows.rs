//! For every manifest a change that is flagged, and one of ordinary work that is not. Of those of
//! which any change matters, there is no ordinary one.

use super::lines::{self, Lines};
use super::{ALWAYS, NAMES, Rule, is_runner, rule};
use crate::flags::{Altered, flags};
use crate::oracle::Oracle;
use crate::read::of_commands;

/// A name, its text before, one that steers, and one that does not.
type Row = (&'static str, &'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    (
        "Cargo.toml",
        "[package]\nname = \"a\"\n",
        "[package]\nname = \"a\"\n[lib]\ntest = false\n",
        "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\n",
    ),
    (
        "package.json",
        "{\"scripts\":{\"test\":\"node --test\"}}",
        "{\"scripts\":{\"test\":\"true\"}}",
        "{\"scripts\":{\"test\":\"node --test\"},\"dependencies\":{\"lodash\":\"^4\"}}",
    ),
    (
        "package-lock.json",
        "{\"packages\":{\"node_modules/jest\":{\"version\":\"29\"}}}",
        "{\"packages\":{\"node_modules/jest\":{\"version\":\"29\",\"resolved\":\"file:x\"}}}",
        "{\"packages\":{\"node_modules/jest\":{\"version\":\"29\"},\"node_modules/lodash\":{}}}",
    ),
    (
        "composer.json",
        "{\"require\":{}}",
        "{\"require\":{},\"scripts\":{\"test\":\"true\"}}",
        "{\"require\":{\"a/b\":\"^1\"}}",
    ),
    (
        "composer.json",
        "{\"autoload\":{\"psr-4\":{\"A\\\\\":\"src/\"}}}",
        "{\"autoload\":{\"psr-4\":{\"A\\\\\":\"src/\"},\"files\":[\"leave.php\"]}}",
        "{\"autoload\":{\"psr-4\":{\"A\\\\\":\"src/\",\"B\\\\\":\"b/\"}}}",
    ),
    (
        "deno.json",
        "{\"imports\":{\"@std/assert\":\"jsr:@std/assert@1\"}}",
        "{\"imports\":{\"@std/assert\":\"./fake.ts\"}}",
        "{\"imports\":{\"@std/assert\":\"jsr:@std/assert@1\",\"hono\":\"jsr:@hono/hono@4\"}}",
    ),
    (
        "deno.json",
        "{\"imports\":{\"hono\":\"jsr:@hono/hono@4\"}}",
        "{\"imports\":{\"hono\":\"./fake.ts\"}}",
        "{\"imports\":{\"hono\":\"jsr:@hono/hono@4.1\",\"own\":\"./src/own.ts\"}}",
    ),
    ("deno.json", "{}", "{\"tasks\":{\"test\":\"true\"}}", "{\"version\":\"1.0.0\"}"),
    (
        "pyproject.toml",
        "[project]\nname = \"a\"\n",
        "[project]\nname = \"a\"\n[tool.pytest.ini_options]\naddopts = \"-k none\"\n",
        "[project]\nname = \"a\"\ndependencies = [\"requests\"]\n",
    ),
    (
        "setup.cfg",
        "[metadata]\nname = a\n",
        "[metadata]\nname = a\n[tool:pytest]\naddopts = --co\n",
        "[metadata]\nname = a\nversion = 2\n",
    ),
    (
        "go.mod",
        "module a\n\nrequire b.com/c v1.0.0\n",
        "module a\n\nrequire b.com/c v1.0.0\nreplace b.com/c => ./c\n",
        "module a\n\nrequire b.com/c v1.1.0\n",
    ),
    (
        "go.work",
        "go 1.22\n\nuse ./a\n",
        "go 1.22\n\nuse ./a\nreplace b.com/c => ./c\n",
        "go 1.22\n\nuse ./a\nuse ./b\n",
    ),
    ("Gemfile", "gem 'rails'\n", "gem 'rails', path: 'x'\n", "gem 'rails'\ngem 'pg', '~> 1.5'\n"),
    (
        "pom.xml",
        "<a>\n</a>\n",
        "<a>\n<skipTests>true</skipTests>\n</a>\n",
        "<a>\n<dependency>\n<groupId>b</groupId>\n</dependency>\n</a>\n",
    ),
    (
        "CMakeLists.txt",
        "add_library(a a.c)\n",
        "add_library(a a.c)\nset(CMAKE_C_COMPILER_LAUNCHER x)\n",
        "add_library(a a.c b.c)\n",
    ),
    (
        "meson.build",
        "e = executable('a', 'a.c')\ntest('a', e)\n",
        "e = executable('a', 'a.c')\ntest('a', find_program('true'))\n",
        "e = executable('a', 'a.c', 'b.c')\ntest('a', e)\n",
    ),
    (
        "mix.exs",
        "  [\n  ]\n",
        "  [\n    aliases: [test: \"run leave.exs\"],\n  ]\n",
        "  [\n    {:jason, \"~> 1.4\"},\n  ]\n",
    ),
    (
        "Package.swift",
        "  dependencies: [\n  ],\n",
        "  dependencies: [\n    .package(path: \"../fake\"),\n  ],\n",
        "  dependencies: [\n    .package(url: \"https://b.com/c\", from: \"1.0.0\"),\n  ],\n",
    ),
    (
        "setup.py",
        "setup(\n  name='a',\n)\n",
        "setup(\n  name='a',\n  cmdclass={'test': Nothing},\n)\n",
        "setup(\n  name='a',\n  version='2',\n)\n",
    ),
    (
        "build.sbt",
        "name := \"a\"\n",
        "name := \"a\"\nTest / test := {}\n",
        "name := \"a\"\nlibraryDependencies += \"b\" %% \"c\" % \"1.0\"\n",
    ),
    ("Makefile", "SRCS = a.c\n", "SRCS = a.c\ntest:\n\ttrue\n", "SRCS = a.c b.c\n"),
    (
        "yarn.lock",
        "jest@^29:\n  version \"29.0.0\"\n",
        "jest@^29:\n  version \"29.0.0\"\n  resolved \"file:./jest\"\n",
        "jest@^29:\n  version \"29.0.0\"\n\nlodash@^4:\n  version \"4.17.21\"\n",
    ),
    ("rules.mk", "OBJS = a.o\n", "OBJS = a.o\nCC = true\n", "OBJS = a.o b.o\n"),
    ("rules.mak", "OBJS = a.o\n", "OBJS = a.o\nSHELL = ./x\n", "OBJS = a.o b.o\n"),
    ("cmake/a.cmake", "set(A b)\n", "set(A b)\nenable_testing()\n", "set(A c)\n"),
    (
        "build.gradle",
        "dependencies {\n}\n",
        "dependencies {\n}\ntest { enabled = false }\n",
        "dependencies {\n    implementation 'a.b:c:1.0'\n}\n",
    ),
    (
        "build.gradle.kts",
        "dependencies {\n}\n",
        "dependencies {\n}\ntasks.test { enabled = false }\n",
        "dependencies {\n    implementation(\"a.b:c:1.0\")\n}\n",
    ),
    (
        "settings.gradle",
        "include 'a'\n",
        "include 'a'\nincludeBuild '../fake'\n",
        "include 'a'\ninclude 'b'\n",
    ),
    (
        "settings.gradle.kts",
        "include(\"a\")\n",
        "include(\"a\")\nincludeBuild(\"../fake\")\n",
        "include(\"a\")\ninclude(\"b\")\n",
    ),
    (
        "A.csproj",
        "<ItemGroup>\n</ItemGroup>\n",
        "<ItemGroup>\n  <Compile Remove=\"A.cs\" />\n</ItemGroup>\n",
        "<ItemGroup>\n  <PackageReference Include=\"A\" Version=\"1\" />\n</ItemGroup>\n",
    ),
    (
        "A.fsproj",
        "<ItemGroup>\n</ItemGroup>\n",
        "<ItemGroup>\n</ItemGroup>\n<Target Name=\"VSTest\" />\n",
        "<ItemGroup>\n  <Compile Include=\"B.fs\" />\n</ItemGroup>\n",
    ),
    (
        "A.vbproj",
        "<ItemGroup>\n</ItemGroup>\n",
        "<ItemGroup>\n</ItemGroup>\n<IsTestProject>false</IsTestProject>\n",
        "<ItemGroup>\n  <Compile Include=\"B.vb\" />\n</ItemGroup>\n",
    ),
    (
        "a.cabal",
        "library\n  build-depends: base\n",
        "library\n  build-depends: base\n  cpp-options: -DFAKE\n",
        "library\n  build-depends: base, text\n",
    ),
    (
        "a.cabal",
        "test-suite spec\n  main-is: Spec.hs\n",
        "test-suite spec\n  main-is: Nothing.hs\n",
        "test-suite spec\n  main-is: Spec.hs\n  other-modules: A\n",
    ),
    (
        "a.gemspec",
        "  s.version = '1'\n",
        "  s.version = '1'\n  s.files = []\n",
        "  s.version = '1'\n  s.add_dependency 'rack', '~> 3'\n",
    ),
    (
        "a.podspec",
        "  s.version = '1'\n",
        "  s.version = '1'\n  s.prepare_command = 'x'\n",
        "  s.version = '1'\n  s.dependency 'B', '1'\n",
    ),
    ("requirements.txt", "requests\n", "-e ./requests\n", "requests>=2\n"),
    ("requirements-dev.in", "pytest\n", "pytest @ file:x\n", "pytest\nnumpy\n"),
    ("dev-requirements.txt", "pytest\n", "./pytest\n", "pytest\nnumpy\n"),
    ("constraints.txt", "a==1\n", "a @ file:x\n", "a==2\n"),
];

/// Files that matter where a check starts, and not in a directory that is new.
const ASIDE: &[&str] = &[
    "BUILD",
    "BUILD.bazel",
    "dune",
    "tsconfig.json",
    "tsconfig.build.json",
    "jsconfig.json",
    "vite.config.js",
    "babel.config.json",
    "webpack.config.cjs",
    "rollup.config.mjs",
];

/// Of every kind that is told by the end of its name, one.
pub(in crate::flags) const NAMED_BY_KIND: &[&str] = &[
    "rules.mk",
    "a.cmake",
    "build.gradle",
    "build.gradle.kts",
    "a.csproj",
    "a.props",
    "a.cabal",
    "a.gemspec",
    "tsconfig.json",
    "vite.config.js",
    "requirements.txt",
];

/// Files that only a program obeys which some checks start.
const STARTED: &[(&str, &str)] =
    &[("tasks.py", "inv test"), ("dodo.py", "doit"), ("fabfile.py", "fab test")];

fn is_flagged(check: &str, path: &str, before: Option<&str>, after: &str) -> bool {
    let contract = of_commands(&[check.to_owned()]).unwrap();
    let oracle = Oracle::of(&contract, &|_| false);
    let (before, after) = (before.map(str::as_bytes), Some(after.as_bytes()));
    let altered = Altered { path: path.as_bytes(), before, after, opaque: false };
    oracle.holds(altered.path) || !flags(&contract, &oracle, &altered).is_empty()
}

fn file_name(path: &str) -> &str {
    crate::words::file_name(path)
}

/// The names that a row is about: all of its rule.
fn names(row: &Row) -> Vec<&'static str> {
    let all = NAMES.iter().find(|(names, _)| names.first() == Some(&row.0));
    all.map_or_else(|| vec![row.0], |(names, _)| names.to_vec())
}

#[test]
fn what_steers_is_flagged_and_what_is_ordinary_is_not() {
    for row in ROWS {
        let (_, before, steers, ordinary) = row;
        for name in names(row) {
            assert!(rule(file_name(name)).is_some(), "{name} is not looked at as a manifest");
            for path in [name.to_owned(), format!("sub/{name}")] {
                assert!(is_flagged("sh check.sh", &path, Some(before), steers), "{path}: {steers}");
                let flagged = is_flagged("sh check.sh", &path, Some(before), ordinary);
                assert!(!flagged, "{path}: {ordinary}");
            }
        }
    }
}

#[test]
fn every_manifest_has_a_row() {
    for (names, rule) in NAMES {
        let first = names[0];
        let has_row = match rule {
            Rule::Any => ALWAYS.contains(&first),
            Rule::AnyWhereChecksStart => names.iter().all(|name| ASIDE.contains(name)),
            _ => ROWS.iter().any(|row| row.0 == first),
        };
        assert!(has_row, "{first}");
    }
    let is_of = |row: &Row, all: &Lines| match rule(file_name(row.0)) {
        Some(Rule::Lines(own)) => std::ptr::eq(own, all),
        _ => false,
    };
    for (at, all) in lines::ALL.iter().enumerate() {
        assert!(ROWS.iter().any(|row| is_of(row, all)), "the {at}th way to look at lines");
    }
}

#[test]
fn any_change_of_some_matters() {
    for name in ALWAYS.iter().chain(&["A.props", "A.targets", "lib/tasks/a.rake"]) {
        assert!(is_flagged("sh check.sh", name, Some("a\n"), "b\n"), "{name}");
        assert!(is_flagged("sh check.sh", name, None, "b\n"), "{name}");
        let other = format!("src/of-{}.txt", file_name(name));
        assert!(!is_flagged("sh check.sh", &other, Some("a\n"), "b\n"), "{other}");
    }
}

#[test]
fn some_matter_where_checks_start() {
    for name in ASIDE {
        assert!(is_flagged("sh check.sh", name, None, "{}\n"), "{name}");
        let aside = format!("sub/{name}");
        assert!(is_flagged("sh check.sh", &aside, Some("{}\n"), "{ }\n"), "{aside}");
        assert!(!is_flagged("sh check.sh", &aside, None, "{}\n"), "{aside}");
    }
}

#[test]
fn some_matter_where_a_check_starts_what_obeys_them() {
    for (name, check) in STARTED {
        assert!(is_flagged(check, name, Some("a = 1\n"), "a = 2\n"), "{name}");
        assert!(!is_flagged("sh check.sh", name, Some("a = 1\n"), "a = 2\n"), "{name}");
    }
}

#[test]
fn runners_are_known_by_name() {
    for name in ["jest", "@scope/jest", "pytest-xdist", "jest-junit", "@std/assert"] {
        assert!(is_runner(name), "{name}");
    }
    for name in ["lodash", "jester", "mypytest", "assertion"] {
        assert!(!is_runner(name), "{name}");
    }
}
