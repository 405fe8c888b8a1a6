//! New files that would be found in the place of others: modules of Python's own library, goals of
//! `make`, programs instead of sources.

use super::{Altered, Found};
use crate::terms::Contract;
use crate::words;

/// Modules of Python's library that runners of tests import. A file of such a name, where Python
/// looks first, is run in their place.
const LIBRARY: &[&str] = &[
    "abc",
    "argparse",
    "array",
    "ast",
    "asyncio",
    "atexit",
    "base64",
    "bdb",
    "bisect",
    "builtins",
    "bz2",
    "cmd",
    "code",
    "codecs",
    "collections",
    "concurrent",
    "configparser",
    "contextlib",
    "copy",
    "copyreg",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "email",
    "encodings",
    "enum",
    "errno",
    "faulthandler",
    "fnmatch",
    "fractions",
    "functools",
    "gc",
    "genericpath",
    "getpass",
    "gettext",
    "glob",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "marshal",
    "math",
    "multiprocessing",
    "ntpath",
    "numbers",
    "opcode",
    "operator",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "pkgutil",
    "platform",
    "posixpath",
    "pprint",
    "py_compile",
    "queue",
    "random",
    "re",
    "reprlib",
    "runpy",
    "select",
    "selectors",
    "shlex",
    "shutil",
    "signal",
    "site",
    "socket",
    "stat",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "symtable",
    "sys",
    "sysconfig",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "timeit",
    "token",
    "tokenize",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
    "xml",
    "zipfile",
    "zipimport",
    "zlib",
    "packaging",
    "exceptiongroup",
    "tomli",
    "tomllib",
    "pygments",
    "colorama",
    "attr",
    "attrs",
    "py",
];

/// Directories in which Python looks for modules by itself: where a check starts, and those that
/// projects put their packages in.
const SOURCES: &[&[u8]] = &[b"", b"src", b"lib", b"python"];

/// What would be run, or linked, in the place of sources that can be looked at.
const PROGRAMS: &[&str] =
    &["so", "dylib", "dll", "pyd", "a", "o", "class", "jar", "node", "wasm", "exe", "beam", "rlib"];

pub(super) fn look(contract: &Contract, altered: &Altered<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    if altered.before.is_none() && (altered.after.is_some() || altered.opaque) {
        found.extend(shadows_a_module(contract, altered));
        found.extend(stops_a_goal(contract, altered));
        found.extend(stands_for_a_program(contract, altered));
    }
    if altered.opaque && PROGRAMS.contains(&altered.extension()) {
        let why = "it is a program that can't be looked at, where checks may find it";
        found.push(Found::whole(why));
    }
    found
}

fn shadows_a_module(contract: &Contract, altered: &Altered<'_>) -> Option<Found> {
    let name = altered.name();
    let module = match name {
        "__init__.py" => {
            let directory = str::from_utf8(altered.directory()).ok()?;
            let (above, own) = directory.rsplit_once('/').unwrap_or(("", directory));
            SOURCES.contains(&above.as_bytes()).then_some(own)?
        }
        name => {
            let looked_in = SOURCES.contains(&altered.directory())
                || altered.is_where_checks_start(contract)
                || is_beside_a_script(contract, altered);
            let (stem, rest) = name.split_once('.')?;
            let is_module = matches!(rest.rsplit('.').next(), Some("py" | "so" | "pyd"));
            (looked_in && is_module).then_some(stem)?
        }
    };
    LIBRARY
        .contains(&module)
        .then(|| Found::whole(format!("it takes the place of Python's own module {module}")))
}

/// Python looks for modules beside the script that it runs, before anywhere else.
fn is_beside_a_script(contract: &Contract, altered: &Altered<'_>) -> bool {
    contract.checks.iter().flat_map(words::named_paths).any(|path| {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        path.ends_with(".py") && directory.as_bytes() == altered.directory()
    })
}

/// Programs of the machine that checks are likely to start.
const STARTED: &[&str] = &[
    "python", "python3", "node", "npm", "npx", "bash", "make", "cargo", "rustc", "git", "pytest",
    "pytest-3", "java", "javac", "gcc", "cc", "clang", "ruby", "perl", "php", "grep", "diff",
    "cmp",
];

/// A search path that leads into the project finds it before the machine's own.
fn stands_for_a_program(contract: &Contract, altered: &Altered<'_>) -> Option<Found> {
    let name = altered.name();
    let is_named = contract.checks.iter().any(|check| {
        // With a slash it is looked for where the command says, not on the search path.
        words::commands(&check.run).iter().any(|words| {
            words::program(words).is_some_and(|(program, _)| program == name)
                && words.iter().any(|word| word == name)
        })
    });
    let why = format!("checks may find it in the place of the program {name}");
    (is_named || STARTED.contains(&name)).then(|| Found::whole(why))
}

/// Goals that checks are likely to make.
const GOALS: &[&str] = &[
    "test",
    "tests",
    "check",
    "checks",
    "unit",
    "lint",
    "all",
    "build",
    "verify",
    "ci",
    "validate",
    "integration",
    "run-tests",
    "unittest",
    "unittests",
    "coverage",
];

/// `make test` does nothing where there is a file `test`.
fn stops_a_goal(contract: &Contract, altered: &Altered<'_>) -> Option<Found> {
    let makes = contract.checks.iter().any(|check| {
        words::commands(&check.run)
            .iter()
            .filter_map(|words| words::program(words))
            .any(|(program, _)| words::is_make(program))
    });
    let stops = makes && GOALS.contains(&altered.name());
    stops.then(|| Found::whole("`make` does nothing for a goal whose name a file has"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Oracle;
    use crate::read::of_commands;

    /// Whether a new file is flagged, or held.
    fn is_caught(check: &str, path: &str, after: Option<&[u8]>) -> bool {
        let contract = of_commands(&[check.to_owned()]).unwrap();
        let oracle = Oracle::of(&contract, &|_| false);
        let path = path.as_bytes();
        let altered = Altered { path, before: None, after, opaque: after.is_none() };
        oracle.holds(path) || !crate::flags::flags(&contract, &oracle, &altered).is_empty()
    }

    #[test]
    fn every_module_has_its_place_and_no_other() {
        let text = Some(&b"x = 1\n"[..]);
        for module in LIBRARY {
            for directory in ["", "src/", "lib/", "python/"] {
                for end in [".py", ".so", ".cpython-312-x86_64-linux-gnu.so", "/__init__.py"] {
                    let path = format!("{directory}{module}{end}");
                    assert!(is_caught("python3 -m pytest", &path, text), "{path}");
                }
            }
            for path in [
                format!("app/{module}.py"),
                format!("src/app/{module}/__init__.py"),
                format!("src/my_{module}.py"),
                format!("{module}.txt"),
            ] {
                assert!(!is_caught("python3 -m pytest", &path, text), "{path}");
            }
            // Python looks beside the script, too.
            assert!(is_caught("python3 app/run.py", &format!("app/{module}.py"), text), "{module}");
        }
    }

    #[test]
    fn every_program_and_goal_is_caught_and_other_names_are_not() {
        let text = Some(&b"true\n"[..]);
        for program in STARTED {
            assert!(is_caught("sh check.sh", &format!("tools/{program}"), text), "{program}");
            let other = format!("tools/my-{program}");
            assert!(!is_caught("sh check.sh", &other, text), "{other}");
        }
        assert!(is_caught("mytool --all", "tools/mytool", text));
        for goal in GOALS {
            assert!(is_caught("make everything", goal, text), "{goal}");
            assert!(!is_caught("make everything", &format!("my-{goal}"), text), "{goal}");
        }
        assert!(!is_caught("sh check.sh", "unit", text));
    }

    #[test]
    fn every_kind_of_program_is_caught_where_it_can_not_be_looked_at() {
        for extension in PROGRAMS {
            let path = format!("lib/fast.{extension}");
            assert!(is_caught("sh check.sh", &path, None), "{path}");
            assert!(!is_caught("sh check.sh", &path, Some(b"x\n")), "{path}");
        }
        for path in ["docs/a.png", "data/a.bin", "a.pdf"] {
            assert!(!is_caught("sh check.sh", path, None), "{path}");
        }
    }
}
