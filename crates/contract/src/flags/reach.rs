//! Product code that reaches into what runs or judges the tests: it replaces assertions, asks whether it is being
//! tested, gives back what equals everything, or stands where a part of the runner is looked for.
//!
//! A table by language. What is ordinary in product code is not in it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// What one language writes where it reaches into the tests.
struct Language {
    endings: &'static [&'static str],
    /// How a line begins that is a comment.
    comment: &'static str,
    /// What a line says, and what that means.
    lines: &'static [(&'static str, &'static str)],
    /// What the whole text says, and what that means.
    texts: &'static [(&'static str, &'static str)],
}

const PATCHES: &str = "it replaces a part of what the tests are judged by";
const ASKS: &str = "it asks whether it is being tested";
const RUNNER: &str = "product code reaches for the runner of the tests";
const EQUAL: &str = "it equals everything, so no comparison with it means anything";
const BEFORE: &str = "it runs before the tests, or in their place";
const STANDS_IN: &str = "it stands in for a program or a function that checks use";

const LANGUAGES: &[Language] = &[
    Language {
        endings: &["py", "pyi"],
        comment: "#",
        lines: &[
            (r"\b(import|from)\s+_?(unittest|pytest|pluggy|doctest|nose2?|hypothesis)\b", RUNNER),
            (r"\b_?(unittest|pytest)\.\w", RUNNER),
            (r#"import_module\(\s*["']_?(unittest|pytest)"#, RUNNER),
            (r#"["']_?(unittest|pytest)["']\s*(not\s+)?in\b"#, ASKS),
            (r"\bPYTEST_\w+", ASKS),
            (
                r"\b(_getframe|currentframe)\b|\binspect\.stack\b|\bgc\.get_(objects|referrers)\b",
                ASKS,
            ),
            (r"\bsys\.(meta_path|path_hooks|settrace|setprofile|exit\s*=[^=])", PATCHES),
            (
                r"\bsys\.modules\b(\[__name__\])?[^\]]*=[^=]|\b(__builtins__|builtins)\b.*=[^=]",
                PATCHES,
            ),
            (
                r"^\s*(os|io|re|json|math|time|datetime|inspect|importlib|traceback|contextlib|collections|functools|operator|subprocess|pathlib|difflib)(\.\w+)+\s*=[^=]",
                PATCHES,
            ),
            (r"\b__(eq|ne)__\s*=\s*lambda\b", EQUAL),
        ],
        texts: &[
            (r"def __eq__\([^)]*\)[^:]*:\s*(?:#[^\n]*\s*)*return\s+True\b", EQUAL),
            (r"def __ne__\([^)]*\)[^:]*:\s*(?:#[^\n]*\s*)*return\s+False\b", EQUAL),
        ],
    },
    Language {
        endings: &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
        comment: "//",
        lines: &[
            (
                r#"(from|import|require\()\s*\(?["'](node:test|bun:test|vitest|jest|@jest/[\w-]+|mocha|chai|ava|tap|@playwright/test)["'/]"#,
                RUNNER,
            ),
            (r"\b(NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST(_\w+)?|npm_lifecycle_event)\b", ASKS),
            (r"^\s*assert\s*=[^=>]|\bassert(\.\w+)+\s*=[^=>]", PATCHES),
            (r#"["'](node:)?assert(/strict)?["']\s*\)(\.\w+)+\s*=[^=>]"#, PATCHES),
            (
                r"\b(syncBuiltinESMExports|registerHooks|_resolveFilename|Module\._load)\b|\brequire\.cache\b",
                PATCHES,
            ),
            (r"\bprocess\.(exit|reallyExit|emit|on|once|std(out|err)\.write)\s*=[^=>]", PATCHES),
            (
                r"^\s*(describe|it|test|expect)\s*=[^=>]|\bglobal(This)?\.(describe|it|test|expect)\b",
                PATCHES,
            ),
            (
                r"\b(Object|Reflect|Array|String|Number|Map|Set|Promise|Error|JSON)(\.prototype)?\.\w+\s*=[^=>]",
                PATCHES,
            ),
            (
                r"\bdefineProperty\(\s*(Object|Array|String|Number|Error|global|globalThis|process|assert)\b",
                PATCHES,
            ),
        ],
        texts: &[],
    },
    Language {
        endings: &["rs"],
        comment: "//",
        lines: &[
            (
                r"\bmacro_rules!\s*(assert\w*|debug_assert\w*|panic|matches|unreachable|unimplemented|todo|vec|println|eprintln)\b",
                PATCHES,
            ),
            (r"\bas\s+(assert|assert_eq|assert_ne|panic)\s*[;,}]", PATCHES),
            (
                r"\bcfg!\(\s*test\b|\bcfg\(\s*not\(\s*test\s*\)\s*\)|\bcfg_attr\(\s*(not\(\s*)?test\b",
                ASKS,
            ),
            (r#"\blink_section\b|\.init_array|\.fini_array|#\[\s*(ctor|dtor)\b|\bctor::"#, BEFORE),
            (r"\breexport_test_harness_main\b|\bcustom_test_frameworks\b|\btest_runner\b", RUNNER),
        ],
        texts: &[(r"fn (eq|ne)\(&self[^)]*\)\s*->\s*bool\s*\{\s*(true|false)\s*\}", EQUAL)],
    },
    Language {
        endings: &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm", "inc"],
        comment: "//",
        lines: &[
            (r"\b(constructor|destructor|init_priority)\b.*\)|\.init_array|\.fini_array", BEFORE),
            (
                r"^\s*#\s*define\s+(assert|static_assert|strn?cmp|str(case)?cmp|memcmp|exit|_exit|_Exit|abort|main|if|else|return|while|f?printf|f?puts|NDEBUG|TEST\w*|EXPECT_\w+|ASSERT_\w+|CHECK\w*|REQUIRE\w*)\b",
                PATCHES,
            ),
            (
                r"^(extern\s+)?(const\s+)?(int|void|char|size_t|unsigned)\b[\s*\w]*?[\s*](strn?cmp|strcasecmp|memcmp|bcmp|exit|_exit|_Exit|abort|printf|fprintf|vfprintf|puts|fputs|__assert_fail|atexit|__libc_start_main)\s*\([^;]*$",
                STANDS_IN,
            ),
        ],
        texts: &[(r"operator==\([^)]*\)[^{;]*\{\s*return\s+true\s*;", EQUAL)],
    },
    Language {
        endings: &["sh", "bash", "zsh", "ksh"],
        comment: "#",
        lines: &[
            (r"\btrap\b.*\bexit\b.*\b(EXIT|ERR|0)\b", "it ends a check with the success of a hook"),
            (r"^\s*alias\s+", STANDS_IN),
            (
                r"^\s*(function\s+)?(test|\[|exit|return|false|true|grep|diff|cmp|ls|cat|sed|awk|head|tail|wc|sort|find|expr|echo|printf|command|env|trap|set|git|make|python3?|node|npm|cargo|go|pytest|prove|perl|java)\s*\(\s*\)",
                STANDS_IN,
            ),
        ],
        texts: &[],
    },
    Language {
        endings: &["pm", "pl", "al"],
        comment: "#",
        lines: &[
            (r"\bTest::(More|Builder|Simple|Harness|Most|Deep)\b|\bTAP::", RUNNER),
            (r"\bCORE::GLOBAL::|\bHARNESS_ACTIVE\b", PATCHES),
            (r"\$\?\s*=[^=~]", "it changes how the process ends"),
        ],
        texts: &[],
    },
    Language {
        endings: &["rb"],
        comment: "#",
        lines: &[(r"\b(RSpec|Minitest|Test::Unit)\b|\brequire\s+.(rspec|minitest)", RUNNER)],
        texts: &[(r"def ==\s*\(?[^)\n]*\)?\s*(?:=\s*)?true\b", EQUAL)],
    },
    Language {
        endings: &["java", "kt", "scala", "groovy"],
        comment: "//",
        lines: &[
            (
                r"\bimport\s+(static\s+)?(org\.junit|org\.testng|org\.hamcrest|org\.assertj|kotlin\.test)\b",
                RUNNER,
            ),
            (r"\bRuntime\.getRuntime\(\)\.halt\b|\baddShutdownHook\b", BEFORE),
        ],
        texts: &[(r"boolean\s+equals\([^)]*\)\s*\{\s*return\s+true\s*;", EQUAL)],
    },
    Language {
        endings: &["go"],
        comment: "//",
        lines: &[
            (r#"^\s*(import\s+)?(\w+\s+)?"testing(/\w+)?"|\btesting\.Testing\("#, RUNNER),
            (r#"Lookup\(\s*"test\."#, ASKS),
        ],
        texts: &[],
    },
];

/// Modules of Python that tests and runners import. A file of that name where Python looks first takes their place.
const PYTHONS: &[&str] = &[
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "glob",
    "hashlib",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "linecache",
    "math",
    "operator",
    "os",
    "pathlib",
    "pprint",
    "re",
    "runpy",
    "shutil",
    "site",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "tomllib",
    "traceback",
    "typing",
    "warnings",
];
/// Directories that Python looks into first, as projects have them.
const LOOKED_IN: &[&str] = &["", "src", "lib", "python", "scripts", "tools"];

struct Compiled {
    lines: Vec<(Regex, &'static str)>,
    texts: Vec<(Regex, &'static str)>,
}

static COMPILED: LazyLock<Vec<Compiled>> = LazyLock::new(|| {
    let all = |rules: &[(&'static str, &'static str)]| {
        rules.iter().filter_map(|(rule, why)| Some((Regex::new(rule).ok()?, *why))).collect()
    };
    LANGUAGES.iter().map(|it| Compiled { lines: all(it.lines), texts: all(it.texts) }).collect()
});

/// Where a changed text reaches into the tests: the line, from 1, and what it does.
pub(super) fn reaches(path: &str, before: Option<&str>, after: &str) -> Vec<(u64, &'static str)> {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let Some(at) = LANGUAGES.iter().position(|it| it.endings.contains(&ending)) else {
        return Vec::new();
    };
    let (Some(language), Some(compiled)) = (LANGUAGES.get(at), COMPILED.get(at)) else {
        return Vec::new();
    };
    let before = before.unwrap_or_default();
    let mut found: Vec<(u64, &'static str)> = Vec::new();
    for (number, line) in added(before, after) {
        if line.trim_start().starts_with(language.comment) {
            continue;
        }
        let rule = compiled.lines.iter().find(|(rule, _)| rule.is_match(line));
        found.extend(rule.map(|(_, why)| (number, *why)));
    }
    for (rule, why) in &compiled.texts {
        if rule.find_iter(after).count() > rule.find_iter(before).count()
            && let Some(first) = rule.find(after)
        {
            let above = after.get(..first.start()).unwrap_or_default();
            found.push((above.matches('\n').count() as u64 + 1, why));
        }
    }
    found
}

/// Whether a file that is new takes the place of a module of Python that tests import.
pub(super) fn takes_a_place(path: &str) -> Option<&str> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (place, module) = match name {
        "__init__.py" => above.rsplit_once('/').unwrap_or(("", above)),
        _ => (above, name.strip_suffix(".py")?),
    };
    (LOOKED_IN.contains(&place) && PYTHONS.contains(&module)).then_some(module)
}

/// The lines that were not there before, each as often as it is there more often, and their numbers.
fn added<'a>(before: &str, after: &'a str) -> Vec<(u64, &'a str)> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in before.lines() {
        *known.entry(line.trim()).or_default() += 1;
    }
    let mut added = Vec::new();
    for (number, line) in (1..).zip(after.lines()) {
        match known.get_mut(line.trim()) {
            Some(left) if *left > 0 => *left -= 1,
            _ => added.push((number, line)),
        }
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_one() {
        for (language, compiled) in LANGUAGES.iter().zip(COMPILED.iter()) {
            assert_eq!(language.lines.len(), compiled.lines.len(), "{:?}", language.endings);
            assert_eq!(language.texts.len(), compiled.texts.len(), "{:?}", language.endings);
        }
    }

    #[test]
    fn what_reaches_into_the_tests_is_seen() {
        for (path, text) in [
            ("a.py", "import unittest\n"),
            ("a.py", "unittest.TestCase.assertEqual = lambda *words: None\n"),
            ("a.py", "if \"pytest\" in sys.modules:\n"),
            ("a.py", "importlib.util.find_spec = lambda name: None\n"),
            ("a.py", "class Any:\n    def __eq__(self, other):\n        return True\n"),
            ("a.js", "require('node:assert').strictEqual = () => {};\n"),
            ("a.js", "assert.throws = () => {};\n"),
            ("a.mjs", "syncBuiltinESMExports();\n"),
            ("a.ts", "import { expect } from 'vitest';\n"),
            ("a.rs", "macro_rules! assert_eq {\n"),
            ("a.rs", "#[link_section = \".init_array\"]\n"),
            ("a.rs", "    if cfg!(test) {\n"),
            ("a.rs", "fn eq(&self, _: &Self) -> bool {\n        true\n    }\n"),
            ("a.c", "__attribute__((constructor)) static void quiet(void)\n"),
            ("a.h", "#define strcmp(a, b) 0\n"),
            ("a.c", "int strcmp(const char *a, const char *b)\n{\n"),
            ("a.sh", "trap 'exit 0' EXIT\n"),
            ("a.sh", "grep() { true; }\n"),
            ("a.java", "    public boolean equals(Object other) { return true; }\n"),
            ("a.go", "import \"testing\"\n"),
            ("a.pm", "BEGIN { $? = 0 }\n"),
        ] {
            assert!(!reaches(path, None, text).is_empty(), "{path}: {text}");
        }
        assert_eq!(reaches("a.py", Some("a = 1\n"), "a = 1\nimport pytest\n"), [(2, RUNNER)]);
    }

    #[test]
    fn ordinary_code_is_not() {
        for (path, text) in [
            ("a.py", "import sys\n\nsys.exit(main())\n"),
            ("a.py", "    def __eq__(self, other):\n        return self.n == other.n\n"),
            ("a.py", "# run pytest before you send it\nself.os.name = 1\n"),
            ("a.py", "sys.modules[__name__]\nlogging.raiseExceptions = False\nlatest.tests = 3\n"),
            (
                "a.js",
                "const assert = require('assert');\nassert.ok(true);\nprocess.exitCode = 1;\n",
            ),
            (
                "a.js",
                "const test = /x/.test(text);\nexports.test = 1;\nconst result = items.map(x => x);\n",
            ),
            ("a.rs", "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    assert_eq!(1, 1);\n"),
            ("a.rs", "fn eq(&self, other: &Self) -> bool {\n        self.0 == other.0\n    }\n"),
            (
                "a.c",
                "    if (strcmp(a, b) == 0)\n        exit(1);\n#define LENGTH 3\nint main(void)\n",
            ),
            ("a.c", "int strcmp(const char *a, const char *b);\n"),
            ("a.sh", "trap 'rm -rf \"$work\"' EXIT\nbuild() {\n    make test\n}\nexit 1\n"),
            ("a.java", "    public boolean equals(Object o) { return o instanceof A; }\n"),
            ("a.go", "import \"fmt\"\n"),
            ("a.txt", "import unittest\n"),
        ] {
            assert_eq!(reaches(path, None, text), [], "{path}: {text}");
        }
        assert_eq!(reaches("a.py", Some("import unittest\n"), "\nimport unittest\n"), []);
    }

    #[test]
    fn names_of_pythons_modules_are_known_where_python_looks() {
        for path in ["datetime.py", "src/datetime.py", "tools/ast.py", "json/__init__.py"] {
            assert!(takes_a_place(path).is_some(), "{path}");
        }
        for path in
            ["app/datetime.py", "src/app/json.py", "dates.py", "src/__init__.py", "json.txt"]
        {
            assert_eq!(takes_a_place(path), None, "{path}");
        }
    }
}
