//! For every way a line that opens it, and beside it a line of ordinary work that does not; where a
//! way is ordinary, a text that shows it.

use super::{Language, Source, Way, by_first_line, never};
use crate::expressions::is_like;
use crate::flags::compare::{Comparison, Line};
use crate::flags::{Altered, Flag, flags};
use crate::oracle::Oracle;
use crate::read::of_commands;

/// A path, a line that is flagged, and a neighbour that is not.
type Row = (&'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    ("src/a.rs", "    unsafe { libc::_exit(0) }", "    unsafe { libc::getpid() };"),
    ("src/a.rs", "    std::process::exit(0);", "    std::process::exit(2);"),
    ("src/a.rs", "macro_rules! assert_eq { () => {} }", "macro_rules! assert_all { () => {} }"),
    ("src/a.rs", "use fake::test;", "use fake::tests;"),
    ("src/a.rs", "    if cfg!(test) { 1 } else { 2 }", "    if cfg!(unix) { 1 } else { 2 }"),
    (
        "src/a.rs",
        "    fn eq(&self, _: &Self) -> bool { true }",
        "    fn eq(&self, other: &Self) -> bool { self.0 == other.0 }",
    ),
    ("app/a.py", "import atexit", "import asyncio"),
    ("app/a.py", "    sys.exit(0)", "    sys.exit(1)"),
    ("app/a.pyi", "import pytest", "import typing"),
    ("app/a.pyw", "from unittest import mock", "from unit import mock"),
    ("app/a.py", "os.path.exists = lambda path: True", "exists = os.path.exists"),
    (
        "app/a.py",
        "if 'PYTEST_CURRENT_TEST' in os.environ:",
        "if 'PYTHON_CURRENT_TEST' in os.environ:",
    ),
    ("app/a.py", "@unittest.skip('slow')", "@functools.cache"),
    (
        "app/a.py",
        "    def __eq__(self, other): return True",
        "    def __eq__(self, other): return self.x == other.x",
    ),
    ("app/a.pyx", "    os._exit(0)", "    os.getpid()"),
    ("src/a.js", "process.on('exit', () => {});", "process.on('SIGTERM', () => {});"),
    ("src/a.mjs", "  process.exit(0);", "  process.exit(1);"),
    ("src/a.ts", "assert.equal = () => {};", "assert.equal(a, b);"),
    (
        "src/a.tsx",
        "if (process.env.JEST_WORKER_ID) return 4;",
        "if (process.env.NODE_ENV) return 4;",
    ),
    ("src/a.jsx", "it.skip('adds', () => {});", "list.skip('adds');"),
    ("src/a.cjs", "require.cache[x] = y;", "require('./cache')[x] = y;"),
    ("src/a.mts", "process.exitCode = 0;", "child.exitCode;"),
    ("src/a.cts", "global.expect = fake;", "global.config = fake;"),
    ("src/a.vue", "Array.prototype.includes = () => true;", "list.includes = () => true;"),
    ("src/a.svelte", "process.exit();", "form.exit();"),
    ("src/a.js", "/**/ process.exit(0);", "/* process.exit(0); */"),
    ("pkg/a.go", "\tsyscall.Exit(0)", "\tsyscall.Getpid()"),
    ("pkg/a.go", "//go:linkname leave os.Exit", "//go:noinline"),
    ("pkg/a.go", "\tos.Exit(0)", "\tos.Exit(1)"),
    ("pkg/a.go", "import \"testing\"", "import \"strings\""),
    ("pkg/a.go", "\tif testing.Testing() {", "\tif ready.Testing() {"),
    ("src/a.c", "  _exit(0);", "  my_exit(0);"),
    ("src/a.c", "  exit(0);", "  exit(1);"),
    ("src/a.h", "#define assert(x) ((void)0)", "#define MAX(x) (x)"),
    (
        "src/a.cc",
        "int strcmp(const char *a, const char *b) {",
        "int compare(const char *a, const char *b) {",
    ),
    ("src/a.cpp", "  quick_exit(0);", "  quick_sort(0);"),
    ("src/a.cxx", "  std::exit(EXIT_SUCCESS);", "  std::exit(EXIT_FAILURE);"),
    ("src/a.hh", "#define TEST_F(a, b) void a()", "#define STEP_F(a, b) void a()"),
    ("src/a.hpp", "#undef assert", "#undef MAX"),
    ("src/a.hxx", "#define NDEBUG", "#define DEBUG"),
    ("src/a.inc", "  atexit(f);", "  at(f);"),
    ("src/a.ipp", "__attribute__((constructor)) void f() {", "__attribute__((unused)) void f() {"),
    ("src/a.m", "  _Exit(0);", "  Exit(0);"),
    ("src/a.mm", "[[gnu::constructor]] void f() {", "[[nodiscard]] int f() {"),
    ("lib/a.rb", "at_exit { exit! 0 }", "on_exit { stop 0 }"),
    ("lib/a.rb", "  exit 0", "  exit 1"),
    ("lib/a.rb", "RSpec.configure { |c| c }", "Rack.configure { |c| c }"),
    ("src/a.php", "register_shutdown_function($f);", "register_hook($f);"),
    ("src/a.php", "exit(0);", "exit(1);"),
    (
        "src/a.php",
        "class T extends PHPUnit\\Framework\\TestCase {}",
        "class T extends App\\Framework\\Case {}",
    ),
    ("src/A.java", "    Runtime.getRuntime().halt(0);", "    Runtime.getRuntime().gc();"),
    ("src/A.java", "    System.exit(0);", "    System.exit(1);"),
    ("src/A.java", "import org.junit.jupiter.api.Test;", "import org.slf4j.Logger;"),
    (
        "src/A.java",
        "    public boolean equals(Object o) { return true; }",
        "    public boolean equals(Object o) { return o == this; }",
    ),
    ("src/a.kt", "    exitProcess(0)", "    exitProcess(1)"),
    (
        "src/a.kt",
        "    override fun equals(other: Any?) = true",
        "    override fun equals(other: Any?) = other is A && other.x == x",
    ),
    ("src/a.kts", "    exitProcess(0)", "    exitProcess(1)"),
    ("src/a.scala", "  sys.exit(0)", "  sys.exit(1)"),
    (
        "src/a.scala",
        "  override def equals(other: Any): Boolean = true",
        "  override def equals(other: Any): Boolean = other == x",
    ),
    ("src/a.groovy", "  System.exit(0)", "  System.exit(1)"),
    ("src/a.clj", "(System/exit 0)", "(System/exit 1)"),
    ("src/A.cs", "    Environment.Exit(0);", "    Environment.Exit(1);"),
    ("src/A.cs", "global using Xunit;", "global using System.Linq;"),
    (
        "src/A.cs",
        "    public override bool Equals(object? other) => true;",
        "    public override bool Equals(object? other) => other is A a && a.X == X;",
    ),
    ("src/A.fs", "    exit 0", "    exit 1"),
    ("src/A.fs", "open NUnit.Framework", "open System.IO"),
    ("src/A.vb", "Imports Xunit", "Imports System"),
    ("lib/a.sh", "trap 'exit 0' EXIT", "trap 'rm -f x' EXIT"),
    ("lib/a.bash", "exit 0", "exit 1"),
    ("lib/a.zsh", "grep() {", "find_it() {"),
    ("lib/a.ksh", "alias test=true", "type test"),
    ("lib/A.pm", "POSIX::_exit(0);", "POSIX::floor(0);"),
    ("lib/A.pm", "exit 0;", "exit 1;"),
    ("lib/a.pl", "use Test::More;", "use List::Util;"),
    ("Sources/a.swift", "    exit(0)", "    exit(1)"),
    ("src/a.zig", "    std.process.exit(0);", "    std.process.exit(1);"),
    ("lib/a.ex", "    System.halt(0)", "    conn |> halt()"),
    ("lib/a.exs", "System.at_exit(fn _ -> 0 end)", "System.get_env(\"A\")"),
    ("src/a.erl", "    halt(),", "    stop(),"),
    ("a.lua", "os.exit(0)", "door:exit(0)"),
    ("a.lua", ";os.exit(0)", "-- os.exit(0)"),
    ("src/A.hs", "  exitWith ExitSuccess", "  exitWith (ExitFailure 1)"),
    ("lib/a.ml", "let () = exit 0", "let () = exit 1"),
    ("lib/a.dart", "  exit(0);", "  exit(1);"),
    ("src/a.jl", "exit()", "leave()"),
    ("src/a.nim", "quit(QuitSuccess)", "quit(QuitFailure)"),
    ("source/a.d", "    exit(0);", "    exit(1);"),
    ("src/a.cr", "exit", "exists"),
    ("R/a.r", "quit(status = 0)", "quit(status = 1)"),
    ("R/a.R", "q(\"no\")", "f(\"no\")"),
    // Whatever the language is.
    ("src/a.rs", "    println!(\"test result: ok\");", "    println!(\"the result: ok\");"),
    ("app/a.py", "open('tests/a.txt', 'w')", "open('out/a.txt', 'w')"),
    ("tool", "x = open('tests/a.txt', 'w')", "x = open('out/a.txt', 'w')"),
];

/// Programs, in which leaving is how they end; and macros that are known.
const ORDINARY: &[(&str, &str)] = &[
    ("src/main.rs", "fn main() {\n    std::process::exit(0);\n}\n"),
    ("src/a.rs", "use pretty_assertions::assert_eq;\n"),
    ("app/a.py", "def main():\n    sys.exit(0)\n"),
    ("bin/a.js", "process.exit(0);\n"),
    ("src/a.ts", "if (require.main === module) {\n  process.exit(0);\n}\n"),
    ("cmd/a.go", "package main\n\nfunc main() {\n\tos.Exit(0)\n}\n"),
    ("src/a.c", "int main(void) {\n  exit(0);\n}\n"),
    ("bin/a.rb", "exit 0\n"),
    ("bin/a.php", "exit(0);\n"),
    ("src/A.kt", "fun main() {\n    exitProcess(0)\n}\n"),
    ("src/A.java", "class A { public static void main(String[] a) {\n  System.exit(0);\n} }\n"),
    ("src/App.scala", "object A extends App {\n  sys.exit(0)\n}\n"),
    ("src/a.clj", "(defn -main [& args]\n  (System/exit 0))\n"),
    ("src/A.cs", "class A { static void Main() {\n  Environment.Exit(0);\n} }\n"),
    ("src/A.fs", "[<EntryPoint>]\nlet main argv =\n    exit 0\n"),
    ("src/A.vb", "Module A\n  Sub Main()\n    Environment.Exit(0)\n  End Sub\nEnd Module\n"),
    ("bin/a.sh", "exit 0\n"),
    ("script/a.pl", "#!/usr/bin/perl\nexit 0;\n"),
    ("bin/a.lua", "os.exit(0)\n"),
    ("main.swift", "exit(0)\n"),
    ("bin/a.R", "q(\"no\")\n"),
];

/// Programs by their first line: what is flagged in them, and what is not.
const PROGRAMS: &[Row] = &[
    ("#!/usr/bin/env python3", "import atexit", "sys.exit(0)"),
    ("#!/usr/bin/env node", "process.on('exit', f);", "process.exit(0);"),
    ("#!/usr/bin/ruby", "at_exit { stop }", "exit 0"),
    ("#!/usr/bin/perl", "use Test::More;", "exit 0;"),
    ("#!/bin/sh", "grep() {", "exit 0"),
];

/// Lints that are switched off, where a check is one.
const LINTS: &[Row] = &[
    ("src/a.rs", "#![allow(clippy::all)]", "#[allow(clippy::too_many_lines)]"),
    ("src/a.js", "/* eslint-disable */", "// eslint-disable-next-line no-undef"),
    ("app/a.py", "# ruff: noqa", "x = 1  # noqa: E501"),
    ("src/a.ts", "// @ts-nocheck", "// @ts-expect-error: it has no types"),
    ("lib/a.rb", "# rubocop:disable all", "# rubocop:disable Style/Foo"),
    ("pkg/a.go", "//nolint:all", "//nolint:errcheck"),
];

fn found(check: &str, path: &str, before: &str, after: &str) -> Vec<Flag> {
    let contract = of_commands(&[check.to_owned()]).unwrap();
    let oracle = Oracle::of(&contract, &|_| false);
    flags(&contract, &oracle, &altered(path, before, after))
}

fn altered<'a>(path: &'a str, before: &'a str, after: &'a str) -> Altered<'a> {
    let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
    Altered { path: path.as_bytes(), before, after, opaque: false }
}

fn language(path: &str) -> Option<Language> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    Language::of(extension)
}

fn ways() -> impl Iterator<Item = (Language, &'static Way)> {
    let languages = super::EXTENSIONS.iter().map(|(language, _)| *language);
    languages.flat_map(|language| language.ways().iter().map(move |way| (language, way)))
}

/// The line in a file of its kind.
fn within(path: &str, line: &str) -> String {
    let head = if path == "tool" { "#!/usr/bin/env python3" } else { "x" };
    format!("{head}\n{line}\n")
}

#[test]
fn what_opens_a_way_is_flagged_and_its_neighbour_is_not() {
    for (path, line, neighbour) in ROWS {
        let flags = found("sh check.sh", path, "x\n", &within(path, line));
        assert_eq!(flags.first().and_then(|flag| flag.line), Some(2), "{path}: {line}: {flags:?}");
        let flags = found("sh check.sh", path, "x\n", &within(path, neighbour));
        assert!(flags.is_empty(), "{path}: {neighbour}: {flags:?}");
    }
}

#[test]
fn every_way_has_a_row() {
    for (of, way) in ways() {
        let opens = |(path, line, _): &&Row| {
            let text = within(path, line);
            let shown = Line { number: 2, text: (*line).to_owned() };
            language(path) == Some(of)
                && is_like(way.expression, line)
                && !(way.unless)(&Source::of(&altered(path, "x\n", &text), text.as_bytes()), &shown)
                && found("sh check.sh", path, "x\n", &text)
                    .iter()
                    .any(|flag| flag.why.starts_with(way.why))
        };
        let row = ROWS.iter().find(opens);
        let expression = way.expression.as_ref().map(regex::Regex::as_str);
        assert!(row.is_some(), "no row opens this way of {of:?}: {} {expression:?}", way.why);
    }
}

#[test]
fn every_extension_has_a_row() {
    for extension in super::EXTENSIONS.iter().flat_map(|(_, extensions)| *extensions) {
        let end = format!(".{extension}");
        assert!(ROWS.iter().any(|(path, ..)| path.ends_with(&end)), "no row is about {extension}");
    }
}

#[test]
fn what_is_ordinary_is_not_flagged_where_it_is() {
    for (path, text) in ORDINARY {
        let flags = found("sh check.sh", path, "", text);
        assert!(flags.is_empty(), "{path}: {text}: {flags:?}");
    }
    for (of, way) in ways() {
        let is_always_flagged = std::ptr::fn_addr_eq(way.unless, never as fn(&_, &_) -> _);
        let excused = |(path, text): &&(&str, &str)| {
            let lines = Comparison::of(b"", text.as_bytes()).added;
            language(path) == Some(of)
                && lines.iter().any(|line| is_like(way.expression, &line.text))
        };
        let row = ORDINARY.iter().find(excused);
        let expression = way.expression.as_ref().map(regex::Regex::as_str);
        assert_eq!(row.is_none(), is_always_flagged, "{of:?}: {} {expression:?}", way.why);
    }
}

#[test]
fn a_program_is_known_by_its_first_line() {
    for (first, line, neighbour) in PROGRAMS {
        let text = format!("{first}\n{line}\n");
        assert!(by_first_line(&altered("tool", "", &text)).is_some(), "{first}");
        let flags = found("sh check.sh", "tool", "", &text);
        assert_eq!(flags.first().and_then(|flag| flag.line), Some(2), "{first}: {line}: {flags:?}");
        let flags = found("sh check.sh", "tool", "", &format!("{first}\n{neighbour}\n"));
        assert!(flags.is_empty(), "{first}: {neighbour}: {flags:?}");
        assert!(found("sh check.sh", "tool", "", &format!("{line}\n")).is_empty(), "{line}");
    }
}

#[test]
fn a_lint_that_is_switched_off_is_flagged_and_a_line_of_it_is_not() {
    for (path, line, neighbour) in LINTS {
        let flags = found("npm run lint", path, "x\n", &within(path, line));
        assert!(
            flags.iter().any(|flag| flag.why.starts_with(super::SUPPRESSES)),
            "{path}: {line}: {flags:?}"
        );
        let flags = found("npm run lint", path, "x\n", &within(path, neighbour));
        assert!(flags.is_empty(), "{path}: {neighbour}: {flags:?}");
    }
}
