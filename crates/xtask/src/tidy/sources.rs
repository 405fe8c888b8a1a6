//! Checks that read the files of the checkout as text.

use std::path::Path;

use anyhow::Result;

use super::code;
use crate::program::{self, checkout, program};

/// The files that git tracks, or would track.
#[derive(Default)]
pub(super) struct Sources {
    files: Vec<Source>,
}

/// One file. What is not UTF-8 has no text.
pub(super) struct Source {
    /// Relative to the checkout, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Sources {
    pub(super) fn read() -> Result<Self> {
        let listing = program::read(program("git").args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        let listing = String::from_utf8_lossy(&listing);
        let mut files = Vec::new();
        for path in listing.split('\0').filter(|path| !path.is_empty()) {
            // A file that is deleted but not yet committed is still listed.
            if let Ok(bytes) = std::fs::read(checkout().join(path)) {
                files.push(Source {
                    path: path.to_owned(),
                    text: String::from_utf8(bytes).unwrap_or_default(),
                });
            }
        }
        Ok(Self { files })
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Source> {
        self.files.iter()
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Whether there is such a file, or a directory with files.
    pub(super) fn has(&self, path: &str) -> bool {
        let directory = format!("{}/", path.trim_end_matches('/'));
        self.files().any(|file| file.path == path || file.path.starts_with(&directory))
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files().filter(|file| file.path.ends_with(".rs"))
    }

    /// The names of the folders of `crates/`.
    fn crates(&self) -> Vec<&str> {
        let manifests = self
            .files()
            .filter_map(|file| file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"));
        manifests.filter(|name| !name.contains('/')).collect()
    }
}

#[cfg(test)]
impl Sources {
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self { files: files.iter().map(source).collect() }
    }
}

/// Packages of the lock files that come from anywhere but crates.io.
pub(super) fn foreign_packages(sources: &Sources) -> Vec<String> {
    const CRATES_IO: &str = r#"source = "registry+https://github.com/rust-lang/crates.io-index""#;
    let locks = sources
        .files()
        .filter(|file| file.path == "Cargo.lock" || file.path.ends_with("/Cargo.lock"));
    let foreign = locks.flat_map(|lock| {
        let lines =
            lock.text.lines().filter(|line| line.starts_with("source = ") && *line != CRATES_IO);
        lines.map(|line| format!("{}: {line}", lock.path))
    });
    foreign.collect()
}

/// Files outside `sys` with unsafe code, and leave to write it.
pub(super) fn unsafe_outside_sys(sources: &Sources) -> Vec<String> {
    let outside = sources
        .rust()
        .filter(|file| file.path.starts_with("crates/") && !file.path.starts_with("crates/sys/"));
    let unsafe_files = outside.filter(|file| {
        let code = code::only(&file.text);
        code::has_word(&code, "unsafe")
            || ["allow(unsafe_code", "expect(unsafe_code"].iter().any(|leave| code.contains(leave))
    });
    unsafe_files.map(|file| file.path.clone()).collect()
}

/// Files of the agent with a process, a file, a socket, a thread or a clock in them. What it depends on
/// has some of these, so no table of crates can tell.
pub(super) fn outside_in_agent(sources: &Sources) -> Vec<String> {
    const OUTSIDE: &[&str] = &[
        "fs",
        "process",
        "net",
        "os",
        "env",
        "thread",
        "Instant",
        "SystemTime",
        "system_clock",
        "tokio",
        "rustix",
        "libc",
    ];
    let mut findings = Vec::new();
    for file in sources.rust().filter(|file| file.path.starts_with("crates/agent/src/")) {
        let code = code::only(&file.text);
        let found = OUTSIDE.iter().filter(|word| code::has_word(&code, word));
        findings.extend(found.map(|word| format!("{}: {word}", file.path)));
    }
    findings
}

/// Crates whose manifest does not take the workspace's lints.
pub(super) fn without_lints(sources: &Sources) -> Vec<String> {
    let mut findings: Vec<String> = Vec::new();
    for name in sources.crates() {
        let manifest = format!("crates/{name}/Cargo.toml");
        if !sources.text(&manifest).is_some_and(|text| text.contains("[lints]\nworkspace = true")) {
            findings.push(manifest);
        }
    }
    if !sources.text("Cargo.toml").is_some_and(|text| text.contains("unsafe_code = \"deny\"")) {
        findings.push("Cargo.toml: the lint table does not deny unsafe code".to_owned());
    }
    findings
}

/// Source files that do not begin by saying what they are.
pub(super) fn without_docs(sources: &Sources) -> Vec<String> {
    let product = sources
        .rust()
        .filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/"));
    product.filter(|file| !file.text.starts_with("//! ")).map(|file| file.path.clone()).collect()
}

/// Files whose name says where they are but not what is in them.
pub(super) fn bad_names(sources: &Sources) -> Vec<String> {
    const EMPTY: &[&str] =
        &["mod", "util", "utils", "common", "helper", "helpers", "misc", "handler", "manager"];
    let named = sources.rust().filter(|file| {
        let stem = Path::new(&file.path).file_stem().and_then(|stem| stem.to_str());
        stem.is_some_and(|stem| EMPTY.contains(&stem))
    });
    named.map(|file| file.path.clone()).collect()
}

/// Tests that are there but not run.
pub(super) fn ignored_tests(sources: &Sources) -> Vec<String> {
    let mut findings = Vec::new();
    for file in sources.rust() {
        let code = code::only(&file.text);
        let lines = code.lines().zip(1..).filter(|(line, _)| line.contains("#[ignore"));
        findings.extend(lines.map(|(_, number)| format!("{}:{number}", file.path)));
    }
    findings
}

/// Files that name this checkout's own place, or a home of somebody.
pub(super) fn machine_paths(sources: &Sources) -> Vec<String> {
    machine_paths_of(sources, &checkout().to_string_lossy())
}

fn machine_paths_of(sources: &Sources, checkout: &str) -> Vec<String> {
    let toolchains = ["/.cargo/registry/src/", "/.rustup/toolchains/"];
    let homes = ["/Users/", "C:\\Users\\"];
    let mut findings = Vec::new();
    for file in sources.files().filter(|file| file.path != "crates/xtask/src/tidy/sources.rs") {
        for (line, number) in file.text.lines().zip(1..) {
            let absolute = toolchains.iter().any(|path| has_absolute(line, path));
            let own = checkout.matches('/').count() > 1 && line.contains(checkout);
            if own || absolute || homes.iter().any(|home| line.contains(home)) {
                findings.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    findings
}

/// Whether a line has that path below `/home/NAME` or `/root`.
fn has_absolute(line: &str, path: &str) -> bool {
    let Some((before, _)) = line.split_once(path) else { return false };
    before.ends_with("/root")
        || before
            .rsplit_once("/home/")
            .is_some_and(|(_, name)| !name.is_empty() && !name.contains('/'))
}

/// The files of the product that start processes, each behind one function.
const STARTERS: &[&str] = &[
    "crates/corpus/src/process.rs",
    "crates/git-guard/src/host/environment.rs",
    "crates/run/src/lease/source.rs",
    "crates/sandbox/src/launch.rs",
];

/// Other files of the product that start one.
pub(super) fn stray_processes(sources: &Sources) -> Vec<String> {
    let product = sources.rust().filter(|file| {
        let development = ["testkit", "e2e", "xtask"];
        file.path.starts_with("crates/")
            && file.path.contains("/src/")
            && !file.path.ends_with("/tests.rs")
            && !development.iter().any(|name| file.path.starts_with(&format!("crates/{name}/")))
    });
    let starts = product.filter(|file| {
        let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        code::only(code).contains("Command::new(")
    });
    let stray = starts.filter(|file| !STARTERS.contains(&file.path.as_str()));
    stray.map(|file| file.path.clone()).collect()
}

/// The gates: folders, and which of a gate's files lie in each. The protocols of the network gate
/// share one effect, because all end in one dial.
const GATES: &[(&str, &[&str])] = &[
    ("crates/egress/src", &["effect"]),
    ("crates/egress/src/dns", &["wire", "action", "serve"]),
    ("crates/egress/src/http", &["wire", "action", "serve"]),
    ("crates/egress/src/socks", &["wire", "action", "serve"]),
    ("crates/egress/src/tls", &["wire", "action", "serve"]),
    ("crates/git-guard/src", &["wire", "action", "effect", "serve"]),
    ("crates/docker-gate/src", &["wire", "action", "effect", "serve"]),
];

/// Gates that exist but lack one of the files that every gate has.
pub(super) fn incomplete_gates(sources: &Sources) -> Vec<String> {
    let existing = GATES.iter().filter(|(folder, _)| sources.has(folder));
    let files = existing
        .flat_map(|(folder, names)| names.iter().map(move |name| format!("{folder}/{name}.rs")));
    files.filter(|path| !sources.has(path)).collect()
}

/// ARCHITECTURE.md, if it is absent or longer than a newcomer reads.
pub(super) fn long_architecture(sources: &Sources) -> Vec<String> {
    match sources.text("ARCHITECTURE.md").map(|text| text.lines().count()) {
        None => vec!["there is no ARCHITECTURE.md".to_owned()],
        Some(lines) if lines >= 300 => vec![format!("{lines} lines")],
        Some(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_opened_by_the_agent_is_found() {
        let files = [
            ("crates/agent/src/a.rs", "use std::{fs, io};"),
            ("crates/agent/src/b.rs", "// no fs here\nfn f() { \"process\"; }"),
            ("crates/run/src/c.rs", "use std::process;"),
        ];
        assert_eq!(outside_in_agent(&Sources::of(&files)), ["crates/agent/src/a.rs: fs"]);
    }

    #[test]
    fn a_package_from_elsewhere_is_found() {
        let crates_io = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        assert!(foreign_packages(&Sources::of(&[("Cargo.lock", crates_io)])).is_empty());
        let git = "source = \"git+https://example.com/x\"\n";
        assert_eq!(foreign_packages(&Sources::of(&[("fuzz/Cargo.lock", git)])).len(), 1);
    }

    #[test]
    fn unsafe_code_outside_sys_is_found() {
        let code = "//! A.\nfn f() { unsafe {} }\n";
        let files = [
            ("crates/sys/src/lib.rs", code),
            ("crates/run/src/lib.rs", code),
            ("crates/api/src/lib.rs", "// unsafe\n"),
        ];
        assert_eq!(unsafe_outside_sys(&Sources::of(&files)), ["crates/run/src/lib.rs"]);
        let leave = [("crates/run/src/lib.rs", "#![allow(unsafe_code)]\n")];
        assert_eq!(unsafe_outside_sys(&Sources::of(&leave)).len(), 1);
    }

    #[test]
    fn a_manifest_without_the_lints_is_found() {
        let root = ("Cargo.toml", "unsafe_code = \"deny\"\n");
        let good = ("crates/a/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n");
        assert!(without_lints(&Sources::of(&[root, good])).is_empty());
        assert_eq!(
            without_lints(&Sources::of(&[root, ("crates/a/Cargo.toml", "[package]\n")])).len(),
            1
        );
        assert_eq!(without_lints(&Sources::of(&[good])).len(), 1);
    }

    #[test]
    fn a_file_without_a_word_about_itself_is_found() {
        assert_eq!(without_docs(&Sources::of(&[("crates/a/src/lib.rs", "fn f() {}\n")])).len(), 1);
        assert!(without_docs(&Sources::of(&[("crates/a/src/lib.rs", "//! A.\n")])).is_empty());
    }

    #[test]
    fn names_for_nothing_are_found() {
        let files = [
            ("crates/a/src/x/mod.rs", ""),
            ("crates/a/src/utils.rs", ""),
            ("crates/a/src/apply.rs", ""),
        ];
        assert_eq!(bad_names(&Sources::of(&files)).len(), 2);
    }

    #[test]
    fn an_ignored_test_is_found() {
        let files = [("crates/a/src/x.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}\n")];
        assert_eq!(ignored_tests(&Sources::of(&files)), ["crates/a/src/x.rs:2"]);
    }

    #[test]
    fn a_path_of_a_machine_is_found() {
        let found =
            |text| !machine_paths_of(&Sources::of(&[("README.md", text)]), "/srv/loop").is_empty();
        assert!(found("cd /srv/loop"));
        assert!(found("/home/ada/.rustup/toolchains/stable"));
        assert!(found("/root/.cargo/registry/src/x"));
        assert!(found("/Users/ada"));
        assert!(!found("cd ~/.rustup/toolchains/ and /home/ada/project"));
    }

    #[test]
    fn a_process_started_elsewhere_is_found() {
        let starts = "//! A.\nfn f() { Command::new(\"git\"); }\n";
        let tests = "//! A.\n#[cfg(test)]\nmod tests { fn f() { Command::new(\"git\"); } }\n";
        let files = [
            ("crates/sandbox/src/launch.rs", starts),
            ("crates/run/src/branch.rs", starts),
            ("crates/run/src/project.rs", tests),
            ("crates/xtask/src/x.rs", starts),
        ];
        assert_eq!(stray_processes(&Sources::of(&files)), ["crates/run/src/branch.rs"]);
    }

    #[test]
    fn a_gate_without_a_file_is_found() {
        let files = [
            ("crates/egress/src/effect.rs", ""),
            ("crates/egress/src/dns/wire.rs", ""),
            ("crates/egress/src/dns/serve.rs", ""),
        ];
        assert_eq!(incomplete_gates(&Sources::of(&files)), ["crates/egress/src/dns/action.rs"]);
        assert!(incomplete_gates(&Sources::of(&[])).is_empty());
    }

    #[test]
    fn a_long_architecture_is_found() {
        assert_eq!(long_architecture(&Sources::of(&[])).len(), 1);
        assert_eq!(
            long_architecture(&Sources::of(&[("ARCHITECTURE.md", &"x\n".repeat(300))])).len(),
            1
        );
        assert!(long_architecture(&Sources::of(&[("ARCHITECTURE.md", "x\n")])).is_empty());
    }
}
