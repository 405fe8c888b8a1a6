//! Lines that were added to code: ways to leave with success before a test can fail, to print what
//! a runner prints, to change what a runner consists of, or to be something else under test.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::LazyLock;

use super::compare::{Comparison, Line};
use super::{Altered, Found, MOST};
use crate::expressions::{Expression, expression, is_like};
use crate::oracle::Oracle;
use crate::terms::Contract;
use crate::words;

/// A way, and why it matters.
struct Way {
    expression: &'static Expression,
    why: &'static str,
    /// Where it is ordinary.
    unless: fn(&Source<'_>, &Line) -> bool,
}

const LEAVES: &str = "it can leave with success before a test fails";
const REPLACES: &str = "it changes what tests are run by, or what they compare with";
const STANDS_IN: &str = "it stands in for a program or a function that checks use";
const KNOWS: &str = "it can tell that it is tested, and be something else then";
const PRINTS: &str = "it holds a text that runners print as a result of tests";
const SKIPS: &str = "it skips tests";
const EQUAL: &str = "it is equal to everything";

/// Extensions of code that is looked at, by language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    Python,
    Script,
    Go,
    C,
    Ruby,
    Php,
    Jvm,
    DotNet,
    Shell,
    Perl,
    Other,
}

/// The extensions of each.
const EXTENSIONS: &[(Language, &[&str])] = &[
    (Language::Rust, &["rs"]),
    (Language::Python, &["py", "pyi", "pyw", "pyx"]),
    (Language::Script, &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte"]),
    (Language::Go, &["go"]),
    (Language::C, &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inc", "ipp", "m", "mm"]),
    (Language::Ruby, &["rb"]),
    (Language::Php, &["php"]),
    (Language::Jvm, &["java", "kt", "kts", "scala", "groovy", "clj"]),
    (Language::DotNet, &["cs", "fs", "vb"]),
    (Language::Shell, &["sh", "bash", "zsh", "ksh"]),
    (Language::Perl, &["pl", "pm"]),
    (
        Language::Other,
        &[
            "swift", "zig", "ex", "exs", "erl", "lua", "hs", "ml", "dart", "jl", "nim", "d", "cr",
            "r", "R",
        ],
    ),
];

impl Language {
    fn of(extension: &str) -> Option<Self> {
        let known = EXTENSIONS.iter().find(|(_, extensions)| extensions.contains(&extension));
        known.map(|(language, _)| *language)
    }

    fn ways(self) -> &'static [Way] {
        match self {
            Self::Rust => RUST,
            Self::Python => PYTHON,
            Self::Script => SCRIPT,
            Self::Go => GO,
            Self::C => C,
            Self::Ruby => RUBY,
            Self::Php => PHP,
            Self::Jvm => JVM,
            Self::DotNet => DOTNET,
            Self::Shell => SHELL,
            Self::Perl => PERL,
            Self::Other => OTHER,
        }
    }

    fn comments(self) -> &'static [&'static str] {
        match self {
            Self::Python | Self::Ruby | Self::Shell | Self::Perl => &["#"],
            Self::Php => &["//", "#", "*", "/*"],
            Self::C => &["//", "/*", "* "],
            Self::Other => &["//", "# ", "--", "%"],
            _ => &["//", "/*", "* "],
        }
    }
}

/// All of them.
#[cfg(test)]
pub(super) fn extensions() -> impl Iterator<Item = &'static str> {
    EXTENSIONS.iter().flat_map(|(_, extensions)| *extensions).copied()
}

/// Is code of this extension looked at?
pub(super) fn is_code(extension: &str) -> bool {
    Language::of(extension).is_some()
}

/// A file of code as the run left it. What is asked of all of it is worked out once.
struct Source<'a> {
    altered: &'a Altered<'a>,
    text: Cow<'a, str>,
    is_start: OnceCell<bool>,
    in_main: OnceCell<Vec<bool>>,
}

impl<'a> Source<'a> {
    fn of(altered: &'a Altered<'a>, after: &'a [u8]) -> Self {
        let text = String::from_utf8_lossy(after);
        Self { altered, text, is_start: OnceCell::new(), in_main: OnceCell::new() }
    }

    /// Whether a line is in a function that a program begins with, by what says so of every line.
    fn is_in_main(&self, line: &Line, of_each: fn(&str) -> Vec<bool>) -> bool {
        let at = usize::try_from(line.number).unwrap_or(usize::MAX).saturating_sub(1);
        let each = self.in_main.get_or_init(|| of_each(&self.text));
        each.get(at).copied().unwrap_or_default()
    }
}

fn never(_: &Source<'_>, _: &Line) -> bool {
    false
}

/// A file that is a program by its place or name, where leaving is how it ends.
fn is_program(source: &Source<'_>, _: &Line) -> bool {
    const NAMES: &[&str] = &["main", "__main__", "cli", "cmd", "bin", "manage"];
    let stem = source.altered.name().split('.').next().unwrap_or_default();
    NAMES.contains(&stem)
        || source.text.starts_with("#!")
        || source.altered.directory().split(|byte| *byte == b'/').any(|name| name == b"bin")
}

/// The same, or code that says that it is where the program begins.
fn holds_the_start(source: &Source<'_>, line: &Line) -> bool {
    expression!(
        START,
        r"(?:public|fun|def|func|static|int|void)\s[^\n]*\b[mM]ain\s*\(|package main\b|require\.main\s*===?\s*module|\bextends App\b|\(defn -main\b|\bEntryPoint\b|\bSub Main\b"
    );
    is_program(source, line) || *source.is_start.get_or_init(|| is_like(&START, &source.text))
}

/// Macros that compare as those of the standard library do, and show more.
fn are_known_assertions(_: &Source<'_>, line: &Line) -> bool {
    let known = ["pretty_assertions::", "similar_asserts::", "std::", "core::"];
    known.iter().any(|crate_name| line.text.contains(crate_name))
}

/// In Python: in a function `main`, or where the file is run by itself.
fn is_in_python_main(source: &Source<'_>, line: &Line) -> bool {
    const HEADS: &[&str] = &["def main(", "async def main(", "if __name__"];
    is_program(source, line)
        || source.is_in_main(line, |text| {
            let each = text.lines().scan(false, |inside, line| {
                // A line at the margin belongs to nothing.
                let at_margin = !line.is_empty() && !line.starts_with([' ', '\t']);
                if at_margin && !line.starts_with(['#', ')', ']', '}', '@']) {
                    *inside = HEADS.iter().any(|head| line.starts_with(head));
                }
                Some(*inside && !at_margin)
            });
            each.collect()
        })
}

/// In Go: in a program, but for its function `init`. Elsewhere, Go's own runner may not see it.
fn is_in_go_main(source: &Source<'_>, line: &Line) -> bool {
    source.is_in_main(line, |text| {
        let is_program = text.contains("package main");
        let each = text.lines().scan(false, |in_init, line| {
            if line.starts_with("func ") {
                *in_init = line.starts_with("func init(");
            }
            Some(is_program && !*in_init)
        });
        each.collect()
    })
}

expression!(
    RUST_LEAVES,
    r#"libc::(?:_?exit|quick_exit|atexit|on_exit)\b|\bexit_group\b|\bfn\s+(?:_exit|_Exit|atexit|quick_exit)\b|#!?\[(?:unsafe\()?(?:ctor|dtor|small_ctor|ctor::\w+)\b|link_section|\.init_array|\.fini_array"#
);
expression!(
    RUST_EXIT,
    r"process::exit\(\s*0\s*\)|process::ExitCode::exit_process|\bexit\(\s*0\s*\)"
);
expression!(
    RUST_REPLACES,
    r#"macro_rules!\s*(?:assert|assert_eq|assert_ne|debug_assert\w*|panic|unreachable|todo|matches|test)\b|\bas\s+(?:assert|assert_eq|assert_ne|panic|test)\b|extern\s+"C"[^;{]*\bfn\s+(?:main|exit|write|abort|_start|__libc_start_main|memcmp|malloc)\b|#!\[(?:no_main|test_runner|reexport_test_harness_main|feature\([^)]*custom_test_frameworks)"#
);
expression!(RUST_IMPORTS, r"\buse\b[^;]*\b(?:assert|assert_eq|assert_ne|test)\s*[;,}]");
expression!(
    RUST_KNOWS,
    r"cfg!\(\s*test\s*\)|cfg\([^\]]*\bnot\(\s*test\s*\)|cfg_attr\(\s*test\s*,\s*(?:path|ignore|cfg)\b"
);
expression!(RUST_EQUAL, r"fn\s+(?:eq|ne)\(\s*&self\s*,\s*_\w*\s*:");

const RUST: &[Way] = &[
    Way { expression: &RUST_LEAVES, why: LEAVES, unless: never },
    Way { expression: &RUST_EXIT, why: LEAVES, unless: holds_the_start },
    Way { expression: &RUST_REPLACES, why: REPLACES, unless: never },
    Way { expression: &RUST_IMPORTS, why: REPLACES, unless: are_known_assertions },
    Way { expression: &RUST_KNOWS, why: KNOWS, unless: never },
    Way { expression: &RUST_EQUAL, why: EQUAL, unless: never },
];

expression!(
    PYTHON_LEAVES,
    r"\bos\._exit\b|\batexit\b|\b_exit\(|\bsys\.exitfunc\b|\bctypes\b.*\bexit\b|getattr\(\s*os\b"
);
expression!(
    PYTHON_EXIT,
    r"\b(?:sys\.exit|exit|quit|SystemExit)\(\s*(?:0|None|False|)\s*\)|\braise\s+SystemExit\s*(?:#.*)?$"
);
expression!(
    PYTHON_REPLACES,
    r#"^\s*(?:import|from)\s+(?:_?pytest|unittest|doctest|pluggy|nose2?|_pytest)\b|\bimport_module\(\s*["'](?:_?pytest|unittest|doctest)|__import__\(|\bpytest_plugins\b|\bdef\s+pytest_\w+|\bbuiltins\.\w+\s*=[^=]|__builtins__|\bsys\.(?:meta_path|path_hooks|settrace|setprofile|excepthook\s*=)|\bsys\.modules\s*(?:\[[^\]]*\]\s*=[^=]|\.(?:get|update|setdefault|pop)\b)|\bgc\.get_objects\b|setattr\(\s*(?:builtins|sys\.modules)"#
);
expression!(
    PYTHON_PATCHES,
    r"^\s*(?:os|io|re|json|math|time|datetime|inspect|importlib|traceback|contextlib|collections|functools|operator|subprocess|pathlib|difflib|numbers|decimal)(?:\.\w+)+\s*=[^=]"
);
expression!(
    PYTHON_KNOWS,
    r#"PYTEST_\w+|\b_getframe\b|\bcurrentframe\b|\binspect\.stack\b|\bgc\.get_referrers\b|["'](?:_?pytest|unittest)["']\s+(?:not\s+)?in\s+sys\.modules|["'](?:pytest|unittest)["']\s+in\s+sys\.argv"#
);
expression!(
    PYTHON_SKIPS,
    r"@(?:pytest\.mark\.(?:skip|xfail)|unittest\.(?:skip|expectedFailure))|\bSkipTest\b|\bskipTest\(|\bimportorskip\b|\bcollect_ignore|__test__\s*=\s*False"
);
expression!(
    PYTHON_EQUAL,
    r"def\s+__eq__\(\s*self\s*,\s*\w+.*\)\s*.*:\s*return\s+True\b|__eq__\s*=\s*lambda[^:]*:\s*True"
);

const PYTHON: &[Way] = &[
    Way { expression: &PYTHON_LEAVES, why: LEAVES, unless: never },
    Way { expression: &PYTHON_EXIT, why: LEAVES, unless: is_in_python_main },
    Way { expression: &PYTHON_REPLACES, why: REPLACES, unless: never },
    Way { expression: &PYTHON_PATCHES, why: REPLACES, unless: never },
    Way { expression: &PYTHON_KNOWS, why: KNOWS, unless: never },
    Way { expression: &PYTHON_SKIPS, why: SKIPS, unless: never },
    Way { expression: &PYTHON_EQUAL, why: EQUAL, unless: never },
];

expression!(
    SCRIPT_LEAVES,
    r#"process\.(?:on|once|addListener|prependListener)\(\s*['"`](?:exit|beforeExit|uncaughtException|unhandledRejection)|process\.(?:exitCode\s*=[^=]|reallyExit|abort)|process\[|Deno\.exit\(\s*0?\s*\)"#
);
expression!(SCRIPT_EXIT, r"process\.exit\(\s*0?\s*\)");
expression!(
    SCRIPT_REPLACES,
    r#"\bassert(?:\.\w+)+\s*=[^=>]|['"](?:node:)?assert(?:/strict)?['"]\s*\)(?:\.\w+)+\s*=[^=>]|\bsyncBuiltinESMExports\b|\bregisterHooks\b|\b(?:Array|String|Number|Map|Set|Promise|Error|JSON|Reflect)(?:\.prototype)?\.\w+\s*=[^=>]|\bdefineProperty\(\s*(?:Object|Array|String|Number|Error|global|globalThis|process|assert)\b|\bModule\._|\brequire\.cache\b|\bexpect\.extend\b|globalThis(?:\.|\[['"`])(?:test|it|describe|expect|assert|process)\b|\bglobal\.(?:test|it|describe|expect|assert)\s*=|process\.(?:stdout|stderr)\.write\s*=|process\.emit\s*=|Object\.(?:is|prototype(?:\.\w+)?)\s*=[^=>]|(?:from|require\()\s*['"](?:vitest|jest|@jest/\w+|mocha|node:test|ava|tap|bun:test)['"]"#
);
expression!(SCRIPT_KNOWS, r"\b(?:JEST_WORKER_ID|VITEST_WORKER_ID|VITEST|NODE_TEST_CONTEXT)\b");
expression!(
    SCRIPT_SKIPS,
    r"\b(?:it|test|describe|suite|context)\.(?:skip|only|todo|failing)\b|^\s*(?:xit|xtest|xdescribe|fit|fdescribe)\("
);

const SCRIPT: &[Way] = &[
    Way { expression: &SCRIPT_LEAVES, why: LEAVES, unless: never },
    Way { expression: &SCRIPT_EXIT, why: LEAVES, unless: holds_the_start },
    Way { expression: &SCRIPT_REPLACES, why: REPLACES, unless: never },
    Way { expression: &SCRIPT_KNOWS, why: KNOWS, unless: never },
    Way { expression: &SCRIPT_SKIPS, why: SKIPS, unless: never },
];

expression!(GO_LEAVES, r"\bsyscall\.Exit\b|//go:linkname");
expression!(GO_EXIT, r"\bos\.Exit\(\s*0\s*\)");
expression!(GO_REPLACES, r#"^\s*(?:import\s+)?(?:\w+\s+)?"testing""#);
expression!(GO_KNOWS, r#"\btesting\.Testing\(\)|flag\.Lookup\(\s*"test\.|os\.Args\[0\].*\.test"#);

const GO: &[Way] = &[
    Way { expression: &GO_LEAVES, why: LEAVES, unless: never },
    Way { expression: &GO_EXIT, why: LEAVES, unless: is_in_go_main },
    Way { expression: &GO_REPLACES, why: REPLACES, unless: never },
    Way { expression: &GO_KNOWS, why: KNOWS, unless: never },
];

expression!(
    C_LEAVES,
    r"\b(?:_exit|_Exit|quick_exit|at_quick_exit|atexit|on_exit)\s*\(|__attribute__\s*\(\(.*\b(?:constructor|destructor)\b|\[\[gnu::(?:constructor|destructor)|#\s*pragma\s+(?:startup|init)|\.init_array"
);
expression!(C_EXIT, r"\bexit\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)");
expression!(
    C_REPLACES,
    r"#\s*(?:define|undef)\s+(?:assert|NDEBUG|main|return|if|EXPECT_\w+|ASSERT_\w+|CHECK\w*|REQUIRE\w*|TEST\w*|str(?:n|case|ncase)?cmp|memcmp|exit|abort|else|while)\b"
);

expression!(
    C_STANDS_IN,
    r"^(?:extern\s+)?(?:const\s+)?(?:int|void|char|size_t|unsigned|long)\b[\s*\w]*[\s*](?:str(?:n|case|ncase)?cmp|memcmp|bcmp|_?exit|_Exit|abort|v?f?printf|f?puts|write|__assert_fail|atexit|__libc_start_main)\s*\([^;]*$"
);

const C: &[Way] = &[
    Way { expression: &C_LEAVES, why: LEAVES, unless: never },
    Way { expression: &C_EXIT, why: LEAVES, unless: holds_the_start },
    Way { expression: &C_REPLACES, why: REPLACES, unless: never },
    Way { expression: &C_STANDS_IN, why: STANDS_IN, unless: never },
];

expression!(RUBY_LEAVES, r"\bat_exit\b|\bexit!|\bset_trace_func\b|\bTracePoint\b");
expression!(
    RUBY_EXIT,
    r"^\s*(?:Kernel\.)?exit(?:\s*\(?\s*(?:0|true)\s*\)?)?\s*(?:#.*|(?:if|unless)\b.*)?$"
);
expression!(RUBY_REPLACES, r"\b(?:Minitest|RSpec|Test::Unit)\b");

const RUBY: &[Way] = &[
    Way { expression: &RUBY_LEAVES, why: LEAVES, unless: never },
    Way { expression: &RUBY_EXIT, why: LEAVES, unless: is_program },
    Way { expression: &RUBY_REPLACES, why: REPLACES, unless: never },
];

expression!(PHP_LEAVES, r"\bregister_shutdown_function\b|\bpcntl_exec\b");
expression!(PHP_EXIT, r"\b(?:exit|die)\s*\(\s*0\s*\)");
expression!(PHP_REPLACES, r"\b(?:PHPUnit|Pest)\\|runkit7?_|uopz_");

const PHP: &[Way] = &[
    Way { expression: &PHP_LEAVES, why: LEAVES, unless: never },
    Way { expression: &PHP_EXIT, why: LEAVES, unless: is_program },
    Way { expression: &PHP_REPLACES, why: REPLACES, unless: never },
];

expression!(JVM_LEAVES, r"\.halt\(\s*0?\s*\)|\bexitProcess\(\s*0\s*\)|\bsys\.exit\(\s*0\s*\)");
expression!(JVM_EXIT, r"\bSystem\.exit\(\s*0\s*\)|\(System/exit 0\)");
expression!(
    JVM_REPLACES,
    r"^\s*import\s+(?:static\s+)?(?:org\.junit|org\.testng|org\.scalatest|io\.kotest|kotlin\.test)"
);

expression!(
    JVM_EQUAL,
    r"\bboolean\s+equals\([^)]*\)\s*\{\s*return\s+true\s*;|\b(?:fun|def)\s+equals\([^)]*\)(?:\s*:\s*Boolean)?\s*=?\s*\{?\s*(?:return\s+)?true\b"
);

const JVM: &[Way] = &[
    Way { expression: &JVM_LEAVES, why: LEAVES, unless: holds_the_start },
    Way { expression: &JVM_EXIT, why: LEAVES, unless: holds_the_start },
    Way { expression: &JVM_REPLACES, why: REPLACES, unless: never },
    Way { expression: &JVM_EQUAL, why: EQUAL, unless: never },
];

expression!(
    DOTNET_EXIT,
    r"\bEnvironment\.(?:Exit\(\s*0\s*\)|ExitCode\s*=)|\bProcessExit\b|(?:^|[\s(;=>])exit\s+0\s*(?:$|[;)|])"
);
expression!(
    DOTNET_REPLACES,
    r"^\s*(?:global\s+)?(?:using|open|Imports)\s+(?:static\s+|type\s+)?(?:Xunit|NUnit|Microsoft\.VisualStudio\.TestTools)|\[<?ModuleInitializer"
);

expression!(DOTNET_EQUAL, r"\bbool\s+Equals\([^)]*\)\s*(?:=>\s*true\b|\{\s*return\s+true\b)");

const DOTNET: &[Way] = &[
    Way { expression: &DOTNET_EXIT, why: LEAVES, unless: holds_the_start },
    Way { expression: &DOTNET_REPLACES, why: REPLACES, unless: never },
    Way { expression: &DOTNET_EQUAL, why: EQUAL, unless: never },
];

expression!(SHELL_LEAVES, r"\btrap\b.*\bexit\b.*\b(?:EXIT|ERR|0)\b");
expression!(SHELL_EXIT, r"^(?:exit|return)(?:\s+0)?\s*(?:#.*)?$");
expression!(
    SHELL_STANDS_IN,
    r"^\s*alias\s|^\s*(?:function\s+)?(?:\[|test|exit|return|true|false|set|trap|command|eval|env|echo|printf|grep|diff|cmp|ls|cat|sed|awk|head|tail|wc|sort|uniq|find|expr|seq|git|make|python3?|node|npm|npx|cargo|go|java|pytest|prove|perl|ruby|php|bats)\s*\(\s*\)"
);

const SHELL: &[Way] = &[
    Way { expression: &SHELL_LEAVES, why: LEAVES, unless: never },
    Way { expression: &SHELL_EXIT, why: LEAVES, unless: is_program },
    Way { expression: &SHELL_STANDS_IN, why: STANDS_IN, unless: never },
];

expression!(PERL_LEAVES, r"\bPOSIX::_exit\b|\bCORE::GLOBAL::|\$\?\s*=[^=~]");
expression!(
    PERL_REPLACES,
    r"\bTest::(?:More|Builder|Simple|Harness|Most|Deep|Class|Unit)\b|\bTAP::"
);

expression!(PERL_EXIT, r"^\s*(?:CORE::)?exit(?:\s*\(?\s*0\s*\)?)?\s*(?:;|if\b|unless\b)");

const PERL: &[Way] = &[
    Way { expression: &PERL_LEAVES, why: LEAVES, unless: never },
    Way { expression: &PERL_EXIT, why: LEAVES, unless: is_program },
    Way { expression: &PERL_REPLACES, why: REPLACES, unless: never },
];

expression!(
    OTHER_LEAVES,
    r"\bos\.exit\(\s*(?:0|true)?\s*[,)]|\bSystem\.(?:halt|stop)\(\s*0?\s*\)|\b(?:erlang:halt|init:stop)\(\s*0?\s*\)|^\s*halt\(\)\s*[,.;]|\bhalt\(\s*0\s*\)|\b(?:process|os|posix|Darwin|Glibc)\.exit\(\s*0\s*\)|\bPOSIX::_exit\b|\bexitSuccess\b|\bexitWith\s+\(?ExitSuccess\b|\bat_?exit\b|\badd(?:Exit|Quit)Proc\b|\b_exit\("
);
// Some have it as a function, some as a word.
expression!(
    OTHER_EXIT,
    r"(?:^|[^\w.:])exit\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)|(?:^|[\s(;=>])exit\s+0\s*(?:$|[;)|#]|if\b|unless\b|in\b)|^\s*exit(?:\(\))?\s*$"
);
expression!(
    OTHER_QUIT,
    r#"(?:^|[^\w.:])quit(?:\s*\(\s*|\s+)(?:0|QuitSuccess)\b|^\s*quit\(\)\s*$|(?:^|[^\w.:])(?:quit|q)\(\s*(?:status\s*=\s*0|(?:save\s*=\s*)?["'](?:no|yes|default)["']\s*(?:,\s*(?:status\s*=\s*)?0)?)L?\s*\)"#
);

const OTHER: &[Way] = &[
    Way { expression: &OTHER_LEAVES, why: LEAVES, unless: is_program },
    Way { expression: &OTHER_EXIT, why: LEAVES, unless: is_program },
    Way { expression: &OTHER_QUIT, why: LEAVES, unless: is_program },
];

expression!(
    RESULTS,
    r"test result: |\bRan (?:\d+|%\w|\{[^}]*\}|\$\{?\w+\}?) tests?\b|\b(?:\d+|%\w|\{[^}]*\}) passed(?:,| in\b|;)|\b\d+ passing\b|# (?:pass|fail|tests) \d|Tests run: |% tests passed|BUILD SUCCESSFUL|Test Suites: |Test Files +\d|\d+ examples?, 0 failures|OK \(\d+ tests?|\d+ assertions, 0 failures|Passed! +- Failed|--- PASS: "
);

/// Suppressions for a whole file, where a check is a lint.
const SUPPRESSES: &str = "it switches a lint off for the whole file";

expression!(
    SUPPRESSIONS,
    r"#!\[(?:allow|expect|cfg_attr\([^,]*,\s*allow)|/\*\s*eslint-disable\s*(?:\*/|[a-z@])|^\s*#\s*(?:flake8|ruff):\s*noqa|^\s*#\s*mypy:\s*ignore-errors|#\s*pylint:\s*(?:skip-file|disable=all)|//\s*@ts-nocheck|#\s*pyright:\s*(?:basic|ignore)|/\*\s*tslint:disable\s*\*/|#\s*rubocop:disable\s+all|//\s*biome-ignore-all|@file:Suppress|@SuppressWarnings\(\x22all\x22\)|//\s*nolint:all\s*$"
);

pub(super) fn look(contract: &Contract, oracle: &Oracle, altered: &Altered<'_>) -> Vec<Found> {
    let Some(language) = Language::of(altered.extension()).or_else(|| by_first_line(altered))
    else {
        return Vec::new();
    };
    if altered.opaque {
        return vec![Found::whole(
            "it is code that can't be looked at: too long, no text, or a link",
        )];
    }
    let Some(after) = altered.after else { return Vec::new() };
    let source = Source::of(altered, after);
    let added = Comparison::of(altered.old(), after).added;
    let lints = has_lint(contract);
    let mut found = Vec::new();
    for (index, line) in added.iter().enumerate() {
        if found.len() > MOST {
            break;
        }
        if lints && is_like(&SUPPRESSIONS, &line.text) {
            found.push(Found::at(line.number, SUPPRESSES));
        }
        if is_comment(language, line) && !line.text.contains("go:linkname") {
            continue;
        }
        if is_like(&RESULTS, &line.text) {
            found.push(Found::at(line.number, PRINTS));
        }
        // What stands on two lines is looked at as one.
        let next = added.get(index + 1).filter(|next| next.number == line.number + 1);
        found.extend(way(language, &source, line, next));
    }
    found.dedup();
    found.extend(writes_to(oracle, &added));
    found
}

/// Whether a line begins as a comment, and no code follows where that ends.
fn is_comment(language: Language, line: &Line) -> bool {
    let text = line.text.trim_start();
    let begins = language.comments().iter().any(|mark| text.starts_with(mark));
    let in_block = text.starts_with("/*") || text.starts_with('*');
    let after = text.split_once("*/").map_or("", |(_, after)| after.trim());
    begins && (!in_block || after.is_empty())
}

expression!(NAMES_A_FILE, r#"["'`]((?:[\w.-]+/)*[\w-]*\.?[\w-]+\.\w+)["'`]"#);
expression!(
    WRITES,
    r#"\bwrite\w*\b|\bopen\([^)]*,\s*["'][wax+]|File::create|\bOpenOptions\b|\bfopen\b|\bunlink\w*\b|\brmtree\b|\brename\w*\b|\bcopy(?:file|2)?\(|\btruncate\b"#
);

/// Code that writes, and names a file that checks rest on.
fn writes_to(oracle: &Oracle, added: &[Line]) -> Vec<Found> {
    if !added.iter().any(|line| is_like(&WRITES, &line.text)) {
        return Vec::new();
    }
    let Some(named) = LazyLock::force(&NAMES_A_FILE).as_ref() else { return Vec::new() };
    let names = |line: &Line| {
        let mut paths = named.captures_iter(&line.text).filter_map(|found| found.get(1));
        paths.any(|path| oracle.holds(path.as_str().trim_start_matches("./").as_bytes()))
    };
    let found = added.iter().filter(|line| names(line)).take(MOST);
    found.map(|line| Found::at(line.number, "it writes, and names what checks rest on")).collect()
}

/// The first way that a line, or it together with the next, opens.
fn way(language: Language, source: &Source<'_>, line: &Line, next: Option<&Line>) -> Option<Found> {
    let opened = language.ways().iter().find(|way| {
        let spans_two = way.why == EQUAL
            && next.is_some_and(|next| {
                let two = format!("{} {}", line.text, next.text.trim());
                is_like(way.expression, &two) && !is_like(way.expression, &next.text)
            });
        (is_like(way.expression, &line.text) || spans_two) && !(way.unless)(source, line)
    });
    opened.map(|way| Found::at(line.number, way.why))
}

/// A program without an extension, by its first line.
fn by_first_line(altered: &Altered<'_>) -> Option<Language> {
    let text = altered.after?;
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = str::from_utf8(first).ok()?;
    if !first.starts_with("#!") {
        return None;
    }
    [
        ("python", Language::Python),
        ("node", Language::Script),
        ("ruby", Language::Ruby),
        ("perl", Language::Perl),
        ("sh", Language::Shell),
    ]
    .into_iter()
    .find_map(|(program, language)| first.contains(program).then_some(language))
}

/// Whether a check is a lint, by the programs that it names.
fn has_lint(contract: &Contract) -> bool {
    const LINTS: &[&str] = &[
        "eslint",
        "biome",
        "ruff",
        "flake8",
        "pylint",
        "mypy",
        "pyright",
        "tsc",
        "golangci-lint",
        "staticcheck",
        "rubocop",
        "clippy-driver",
        "oxlint",
        "ktlint",
        "detekt",
        "phpstan",
    ];
    let is_lint = |words: &words::Words| {
        words::program(words).is_some_and(|(program, rest)| {
            let any = |wanted: &[&str]| rest.iter().any(|word| wanted.contains(&word.as_str()));
            LINTS.contains(&program)
                || any(&["clippy", "lint", "typecheck"])
                || program.starts_with("python") && any(LINTS)
        })
    };
    contract.checks.iter().any(|check| words::commands(&check.run).iter().any(is_lint))
}

#[cfg(test)]
mod rows;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_is_one() {
        for (language, _) in EXTENSIONS {
            for way in language.ways() {
                assert!(way.expression.is_some(), "{language:?} {}", way.why);
            }
        }
        assert!(
            RESULTS.is_some()
                && SUPPRESSIONS.is_some()
                && NAMES_A_FILE.is_some()
                && WRITES.is_some()
        );
    }
}
