//! Change sets that somebody made to keep whoever looks at them busy: looking ends, because it
//! takes no more than a few steps for each byte. A test that does not end, or that runs out of
//! memory, is the failure; none looks at a clock.

use super::{Altered, MOST, code, flags, manifests};
use crate::oracle::Oracle;
use crate::terms::Contract;

/// Bytes of a text that is tried with every name.
const SHORT: usize = 512;
/// Bytes of a text that is tried where looking has many steps: so many that a step for each two of
/// them would not end.
const LONG: usize = 256 << 10;

/// What is repeated.
const PARTS: &[&str] = &[
    "{",
    "(",
    "[",
    "}",
    "a",
    "\"",
    "'",
    "`",
    "<",
    "/*",
    "*/",
    "r#",
    "\\",
    "\n",
    "a\n",
    "a b\n",
    "#[a]\n",
    "#[test]\n",
    "#![a]\n",
    "@a\n",
    "[a]\n",
    "[[a]]\n",
    "[a.b]\na = 1\n",
    "[[bin]]\nname = \"a\"\n",
    "a.",
    "a = 1\n",
    "a = [\n",
    "{\"a\":",
    "mod a {",
    "use a::{",
    "use {a, ",
    "fn a() {}\n",
    "impl A {",
    "#[test]\nfn a() {}\n",
    "pub(a) ",
    "// \n",
    "/// ```\n",
    "/// ```\n/// a\n/// ```\n",
    ">>> a\n",
    "def test_a():\n",
    "def test_a():\n  a\n",
    "class Test:\n",
    "test \"a\" {\n",
    "import.meta.vitest\n",
    "\tos.Exit(0)\n",
    "    sys.exit(0)\n",
    "process.exit(0)\n",
    "  exit(0);\n",
    "open('tests/a.txt', 'w')\n",
    "'a.b'",
    "open('a.b', 'w') ",
    "open('a.b', 'w')\n",
    "a/",
    "<a>\n",
    "\u{e9}",
    "\u{1f980}\n",
];

/// Where one step more for each part would be easy to miss.
const MANY: &[(&str, &str)] = &[
    ("src/a.rs", "{"),
    ("src/a.rs", "mod a {"),
    ("src/a.rs", "use a::{"),
    ("src/a.rs", "use a::a;\n"),
    ("src/a.rs", "#[test]\nfn a() {}\n"),
    ("src/a.rs", "#[a]\n"),
    ("src/a.rs", "/// ```\n/// a\n/// ```\n"),
    ("src/a.py", "def test_a():\n"),
    ("src/a.py", "@a\n"),
    ("src/a.py", ">>> a\n"),
    ("src/a.py", "    sys.exit(0)\n"),
    ("src/a.go", "\tos.Exit(0)\n"),
    ("src/a.js", "process.exit(0)\n"),
    ("src/a.zig", "test \"a\" {\n"),
    ("src/a.c", "\u{e9}"),
    ("setup.cfg", "[a]\n"),
    ("pyproject.toml", "[a]\n"),
    ("Makefile", "a\n"),
];

/// A part over and over.
fn repeated(part: &str, size: usize) -> String {
    part.repeat(size / part.len())
}

/// The same, with a number each time.
fn numbered(part: &str, size: usize) -> String {
    let times = size / (part.len() + 4);
    (0..times).map(|at| part.replace('a', &format!("a{at}"))).collect()
}

/// Every part, and what is deep or wide where it is well formed.
fn texts(size: usize) -> impl Iterator<Item = String> {
    let parts = PARTS.iter().flat_map(move |part| [repeated(part, size), numbered(part, size)]);
    let (deep, wide) = (size / 2, size / 16);
    let list = |format: fn(usize) -> String| (0..wide).map(format).collect::<Vec<_>>().join(",");
    let well_formed = [
        format!("{}a = 1\n", "a.".repeat(deep)),
        format!("[{}a]\n", "a.".repeat(deep)),
        format!("a = {}{}\n", "[".repeat(deep), "]".repeat(deep)),
        format!("{{\"a\":{}{}}}", "[".repeat(deep), "]".repeat(deep)),
        format!("{{{}}}", list(|at| format!("\"a{at}\":1"))),
        format!("{{\"scripts\":{{{}}}}}", list(|at| format!("\"a{at}\":\"b\""))),
        format!("{{\"workspaces\":[{}]}}", list(|at| format!("\"a{at}\""))),
        format!("[workspace]\nmembers = [{}]\n", list(|at| format!("\"a{at}\""))),
    ];
    parts.chain(well_formed)
}

fn look(contract: &Contract, path: &str, text: &str) {
    let oracle = Oracle::of(contract, &|_| false);
    let (shorter, _) = text.split_at(text.floor_char_boundary(text.len() / 2));
    for (before, after) in [("x\n", text), (text, shorter), (shorter, text)] {
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let altered = Altered { path: path.as_bytes(), before, after, opaque: false };
        assert!(flags(contract, &oracle, &altered).len() <= MOST, "{path}");
    }
}

fn contract() -> Contract {
    // Whatever is looked at for a runner, a lint, documentation.
    let commands = ["cargo test", "npm run lint", "python3 -m doctest a.py", "make x"];
    crate::read::of_commands(&commands.map(str::to_owned)).unwrap()
}

#[test]
fn looking_at_sources_ends() {
    let contract = contract();
    for extension in code::extensions() {
        for text in texts(SHORT) {
            look(&contract, &format!("src/a.{extension}"), &text);
        }
    }
}

#[test]
fn looking_at_manifests_ends() {
    let contract = contract();
    for name in manifests::names() {
        for text in texts(SHORT) {
            look(&contract, name, &text);
        }
    }
}

#[test]
fn looking_at_many_parts_ends() {
    let contract = contract();
    for (path, part) in MANY {
        look(&contract, path, &numbered(part, LONG));
    }
    for (path, part) in [("src/a.rs", "#[test]\nfn a() {}\n"), ("src/a.sh", "a\n")] {
        look(&contract, path, &repeated(part, LONG));
    }
    let list = |format: fn(usize) -> String| (0..LONG / 16).map(format).collect::<Vec<_>>();
    let (keys, names) = (
        list(|at| format!("\"a{at}\":\"b\"")).join(","),
        list(|at| format!("\"a{at}\"")).join(","),
    );
    for name in ["package.json", "deno.json", "composer.json", "package-lock.json"] {
        for text in [
            format!("{{{keys}}}"),
            format!("{{\"packages\":{{{keys}}}}}"),
            format!("{{\"scripts\":{{{keys}}}}}"),
            format!("{{\"workspaces\":[{names}]}}"),
        ] {
            look(&contract, name, &text);
        }
    }
    let bins = list(|at| format!("[[bin]]\nname = \"a{at}\"\n")).concat();
    for text in [bins, format!("[workspace]\nmembers = [{names}]\n")] {
        look(&contract, "Cargo.toml", &text);
    }
}
