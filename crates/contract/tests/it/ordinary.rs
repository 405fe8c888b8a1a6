//! Ordinary work raises no flag and is not held.

use crate::support::{NONE, flagged, is_caught, of, oracle};

#[test]
fn ordinary_manifests() {
    let cargo = "[package]\nname = \"a\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[dependencies]\nserde = \"1\"\n";
    let npm = "{\n  \"name\": \"a\",\n  \"version\": \"1.0.0\",\n  \"scripts\": { \"test\": \"node --test\" },\n  \"dependencies\": { \"a\": \"^1\" }\n}\n";
    let python = "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n";
    for (path, before, after) in [
        ("Cargo.toml", cargo, cargo.replace("serde = \"1\"\n", "serde = { version = \"1.2\", features = [\"derive\"] }\nregex = \"1\"\n")),
        ("Cargo.toml", cargo, cargo.replace("1.0.0", "1.1.0") + "\n[dev-dependencies]\ntempfile = \"3\"\n"),
        ("Cargo.toml", cargo, format!("{cargo}other = {{ path = \"crates/other\" }}\n\n[features]\nfast = []\n")),
        ("Cargo.toml", cargo, format!("{cargo}\n[[bin]]\nname = \"b\"\npath = \"src/b.rs\"\n")),
        ("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n", "[workspace]\nmembers = [\"a\", \"b\"]\n\n[workspace.dependencies]\nx = \"1\"\n".to_owned()),
        ("Cargo.toml", cargo, format!("{cargo}\n[profile.release]\nlto = true\nopt-level = 3\n")),
        ("crates/b/Cargo.toml", NONE, "[package]\nname = \"b\"\nversion = \"0.1.0\"\nedition = \"2024\"\n".to_owned()),
        ("package.json", npm, npm.replace("\"^1\"", "\"^1\", \"lodash\": \"^4.17.21\"")),
        ("package.json", npm, npm.replace("\"node --test\"", "\"node --test\", \"docs\": \"typedoc\"")),
        ("package.json", npm, npm.replace("1.0.0", "1.1.0").replace("\"name\": \"a\",", "\"name\": \"a\", \"type\": \"module\", \"exports\": \"./a.js\",")),
        ("packages/b/package.json", NONE, "{\"name\":\"b\",\"scripts\":{\"test\":\"node --test\"},\"jest\":{}}".to_owned()),
        ("package-lock.json", "{\"packages\":{}}", "{\"packages\":{\"node_modules/lodash\":{\"version\":\"4\"}}}".to_owned()),
        ("pyproject.toml", python, python.replace("[]", "[\"requests>=2\"]")),
        ("pyproject.toml", NONE, "[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = \"hatchling.build\"\n[project]\nname = \"a\"\n".to_owned()),
        ("requirements.txt", "requests\n", "requests>=2.0\nnumpy[all]==1.26 ; python_version > \"3.8\"\n".to_owned()),
        ("setup.cfg", "[metadata]\nname = a\n[options]\ninstall_requires =\n    requests\n", "[metadata]\nname = a\n[options]\ninstall_requires =\n    requests\n    numpy\n".to_owned()),
        ("go.mod", "module a\n\ngo 1.22\n\nrequire (\n\tb.com/c v1.0.0\n)\n", "module a\n\ngo 1.22\n\nrequire (\n\tb.com/c v1.1.0\n\tgithub.com/d/e v0.0.0-20240101000000-abcdefabcdef // indirect\n)\n".to_owned()),
        ("CMakeLists.txt", "add_library(a a.c)\nadd_test(NAME t COMMAND t)\n", "add_library(a a.c b.c)\nadd_test(NAME t COMMAND t)\n".to_owned()),
        ("Makefile", "OBJS = a.o\nt: $(OBJS)\n\tcc -o t $(OBJS)\n", "OBJS = a.o b.o\nt: $(OBJS)\n\tcc -o t $(OBJS)\nb.o: b.c b.h\n".to_owned()),
        ("pom.xml", "<dependencies>\n</dependencies>\n", "<dependencies>\n  <dependency>\n    <groupId>a.b</groupId>\n    <artifactId>c</artifactId>\n    <version>1.0</version>\n  </dependency>\n</dependencies>\n".to_owned()),
        ("build.gradle.kts", "dependencies {\n}\n", "dependencies {\n    implementation(\"a.b:c:1.0\")\n}\n".to_owned()),
        ("Gemfile", "gem 'rails'\n", "gem 'rails'\ngem 'pg', '~> 1.5', group: :production\n".to_owned()),
        ("App/App.csproj", "<ItemGroup>\n</ItemGroup>\n", "<ItemGroup>\n  <PackageReference Include=\"A\" Version=\"1\" />\n</ItemGroup>\n".to_owned()),
        ("mix.exs", "  [\n  ]\n", "  [\n    {:jason, \"~> 1.4\"},\n  ]\n".to_owned()),
        ("composer.json", "{\"require\":{}}", "{\"require\":{\"a/b\":\"^1\"}}".to_owned()),
        ("yarn.lock", "", "lodash@^4:\n  version \"4.17.21\"\n  resolved \"https://registry.yarnpkg.com/lodash\"\n".to_owned()),
    ] {
        assert_ne!(before, after, "{path}");
        let found = flagged(&["cargo test", "npm test"], path, before, &after);
        assert!(found.is_empty(), "{path}: {found:?}");
    }
}

#[test]
fn ordinary_code() {
    for (path, before, after) in [
        (
            "src/parser.rs",
            "pub fn a() -> u8 { 1 }\n",
            "use std::collections::HashMap;\n\n#[derive(Debug, PartialEq)]\npub struct A(HashMap<u8, u8>);\n\npub fn a() -> u8 { 2 }\n",
        ),
        (
            "src/main.rs",
            "fn main() {}\n",
            "fn main() {\n    if help() { std::process::exit(0); }\n    std::process::exit(run());\n}\n",
        ),
        (
            "src/catch.rs",
            "",
            "use std::panic;\nuse std::panic::{self as p, catch_unwind};\n\n#[cfg(test)]\nmod tests {\n    \
             use pretty_assertions::assert_eq;\n}\n",
        ),
        ("app/tasks.py", "", "def send():\n    return 1\n"),
        (
            "src/error.rs",
            "",
            "impl PartialEq for E {\n    fn eq(&self, other: &Self) -> bool { self.0 == other.0 }\n}\n",
        ),
        ("app/cli.py", "", "import sys\n\ndef main():\n    print('ok')\n    sys.exit(0)\n"),
        (
            "app/tool.py",
            "def f(): pass\n",
            "def f():\n    raise ValueError('x')\n\n\nif __name__ == \"__main__\":\n    f()\n    sys.exit(0)\n",
        ),
        (
            "app/a.py",
            "",
            "import sys\n\n\ndef load(path):\n    if not path:\n        sys.exit(1)\n    assert path, 'path'\n    return path\n",
        ),
        ("app/b.py", "assert x\n", "if not x:\n    raise ValueError\n"),
        (
            "src/server.js",
            "",
            "process.on('SIGTERM', () => server.close());\nif (process.env.NODE_ENV !== 'test') listen();\n",
        ),
        ("bin/tool", "", "#!/usr/bin/env node\nprocess.exit(0)\n"),
        (
            "src/a.ts",
            "",
            "import assert from 'node:assert';\nassert.equal(1, 1);\nexport const test = 1;\nconst total = passed + failed;\n",
        ),
        (
            "cmd/app/main.go",
            "",
            "package main\n\nimport \"os\"\n\nfunc main() {\n\tos.Exit(0)\n}\n",
        ),
        ("pkg/a.go", "", "package a\n\nfunc F() error { return nil }\n"),
        ("src/main.c", "", "int main(void) {\n  exit(0);\n}\n"),
        ("src/a.c", "", "#include <stdlib.h>\nvoid f(void) { exit(1); }\n#define MAX 3\n"),
        ("lib/a.rb", "", "module A\n  def self.test\n    raise 'x' unless ok?\n  end\nend\n"),
        (
            "src/Main.java",
            "",
            "class Main { public static void main(String[] a) { System.exit(0); } }\n",
        ),
        ("README.md", "", "Run `cargo test`; os._exit(0) is bad. 3 passed in 1s\n"),
        ("scripts/deploy.sh", "", "#!/bin/sh\nset -e\nexit 0\n"),
        ("src/report.py", "", "# prints 3 passed in 1s\nprint(f'{n} files written')\n"),
        ("src/big.rs", "", "/// ```\n/// assert_eq!(1, 1);\n/// ```\npub fn f() {}\n"),
    ] {
        let found = flagged(&["cargo test", "pytest", "npm test"], path, before, after);
        assert!(found.is_empty(), "{path}: {found:?}");
    }
}

const RUST: &str = "\
pub fn double(x: u32) -> u32 { x + x }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles() { assert_eq!(double(2), 4); }
}
";

#[test]
fn work_beside_tests_of_the_same_file() {
    for (what, after) in [
        ("a mended function", RUST.replace("x + x", "x * 2")),
        ("a new function", RUST.replace("pub fn", "fn more() {}\n\npub fn")),
        ("a new test", RUST.replace("    #[test]\n", "    #[test]\n    fn none() { assert_eq!(double(0), 0); }\n\n    #[test]\n")),
        ("other layout", RUST.replace("{ assert_eq!(double(2), 4); }", "{\n        // twice\n        assert_eq!(\n            double(2),\n            4,\n        );\n    }")),
        ("a new import", RUST.replace("    use super::*;\n", "    use std::collections::HashMap;\n    use super::*;\n\n    fn map() -> HashMap<u8, u8> { HashMap::new() }\n")),
        ("a first test", RUST.to_owned() + "\n#[cfg(test)]\nmod more {\n    #[test]\n    fn a() {}\n}\n"),
    ] {
        assert_ne!(after, RUST, "{what}");
        let found = flagged(&["cargo test"], "src/lib.rs", RUST, &after);
        assert!(found.is_empty(), "{what}: {found:?}");
    }
    let module = "#[test]\nfn a() { assert!(true); }\n";
    let more = format!("{module}\n#[test]\nfn b() {{}}\n");
    assert!(flagged(&["cargo test"], "src/x/tests.rs", module, &more).is_empty());
    assert!(flagged(&["cargo test"], "src/new/tests.rs", NONE, module).is_empty());
    let python = "def f():\n    return 1\n\n\ndef test_f():\n    assert f() == 1\n";
    let mended = python.replace("return 1", "x = 1\n    return x");
    assert!(flagged(&["pytest x.py"], "app/x.py", python, &mended).is_empty());
}

#[test]
fn new_modules_and_tests_are_not_flagged() {
    for path in [
        "src/new.rs",
        "src/new/mod.rs",
        "app/new.py",
        "app/new/__init__.py",
        "src/new.ts",
        "tests/new.rs",
        "tests/test_new.py",
        "pkg/new_test.go",
        "src/new.test.ts",
        "docs/new.md",
    ] {
        assert!(flagged(&["cargo test"], path, NONE, "x\n").is_empty(), "{path}");
    }
}

#[test]
fn a_program_that_the_task_asks_for_may_be_made() {
    let check = &["./greet ann | grep ann", "python3 solve.py"];
    for (path, text) in [("greet", "#!/bin/sh\necho hi $1\n"), ("solve.py", "print(1)\n")] {
        assert!(!is_caught(check, path, NONE, text), "{path}");
    }
    assert!(is_caught(check, "grep", NONE, "#!/bin/sh\n"));
}

#[test]
fn what_is_looked_at_is_not_held() {
    let contract = of(&["gcc -o t main.c && ./t", "python3 -m mypy app.py", "npx eslint src/a.js"]);
    let oracle = oracle(&contract, &["main.c", "app.py", "src/a.js"]);
    for path in ["main.c", "app.py", "src/a.js"] {
        assert!(!oracle.holds(path.as_bytes()), "{path}");
    }
    assert!(!is_caught(&["pytest"], "app/solve.py", "x = 1\n", "x = 2\n"));
}
