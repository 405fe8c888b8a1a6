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
            let looked_in =
                SOURCES.contains(&altered.directory()) || altered.is_where_checks_start(contract);
            let (stem, rest) = name.split_once('.')?;
            let is_module = matches!(rest.rsplit('.').next(), Some("py" | "so" | "pyd"));
            (looked_in && is_module).then_some(stem)?
        }
    };
    LIBRARY
        .contains(&module)
        .then(|| Found::whole(format!("it takes the place of Python's own module {module}")))
}

/// `make test` does nothing where there is a file `test`.
fn stops_a_goal(contract: &Contract, altered: &Altered<'_>) -> Option<Found> {
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
    let makes = contract.checks.iter().any(|check| {
        words::commands(&check.run)
            .iter()
            .filter_map(|words| words::program(words))
            .any(|(program, _)| words::is_make(program))
    });
    let stops = makes && GOALS.contains(&altered.name());
    stops.then(|| Found::whole("`make` does nothing for a goal whose name a file has"))
}
