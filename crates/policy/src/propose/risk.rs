//! What can come of a rule or a grant, so that whoever reads a proposal knows what to look at. It
//! names what is known to be risky; that nothing is named does not mean that nothing is.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::action::{FileAccess, RefChange, word_enum};
use crate::guarded::{self, Meaning};
use crate::pattern::{PathPattern, ProgramPattern, Segment, file_name};
use crate::raw::Surroundings;
use crate::rule::{Match, Method, Target};

/// What kind of harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RiskClass {
    /// It runs code that nobody looked at.
    RunsCode,
    /// It writes what something outside executes or obeys later.
    WritesWhatRuns,
    /// It makes something public.
    Publishes,
    /// It can carry data out.
    SendsData,
    /// It reads or uses a credential.
    Credentials,
    /// It removes or overwrites what others rely on.
    Destroys,
}

word_enum!(
    RiskClass: "runs-code" => RunsCode, "writes-what-runs" => WritesWhatRuns,
    "publishes" => Publishes, "sends-data" => SendsData, "credentials" => Credentials,
    "destroys" => Destroys,
);

/// One thing that can come of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Risk {
    /// What kind.
    pub class: RiskClass,
    /// How, in a sentence's worth.
    pub why: String,
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.why)
    }
}

fn risk(class: RiskClass, why: impl Into<String>) -> Risk {
    Risk { class, why: why.into() }
}

/// Programs that execute what they are given: as text, as a file, or as another program.
const INTERPRETERS: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bun",
    "busybox",
    "csh",
    "dash",
    "deno",
    "elixir",
    "emacs",
    "env",
    "erl",
    "ex",
    "find",
    "fish",
    "gawk",
    "gdb",
    "groovy",
    "guile",
    "java",
    "jshell",
    "julia",
    "ksh",
    "lua",
    "luajit",
    "mawk",
    "nano",
    "node",
    "nodejs",
    "nohup",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "python",
    "rscript",
    "ruby",
    "scala",
    "script",
    "sed",
    "setsid",
    "sh",
    "sqlite",
    "stdbuf",
    "strace",
    "sudo",
    "su",
    "tclsh",
    "time",
    "timeout",
    "tmux",
    "vi",
    "vim",
    "watch",
    "xargs",
    "zsh",
];

/// Programs that build or install, and on the way run what packages or build files tell them to.
const BUILDERS: &[&str] = &[
    "bazel", "brew", "bundle", "cargo", "cmake", "composer", "conda", "dotnet", "gem", "go",
    "gradle", "gradlew", "just", "make", "meson", "mix", "mvn", "mvnw", "ninja", "nix", "npm",
    "npm-cli", "npx", "npx-cli", "pip", "pipenv", "pipx", "pnpm", "poetry", "rake", "rustup",
    "sbt", "swift", "uv", "uvx", "yarn", "zig",
];

/// Programs that speak to other machines.
const SENDERS: &[&str] = &[
    "aria2c",
    "aws",
    "az",
    "curl",
    "ftp",
    "gcloud",
    "gh",
    "git",
    "glab",
    "gsutil",
    "http",
    "lftp",
    "nc",
    "ncat",
    "netcat",
    "openssl",
    "rclone",
    "rsync",
    "scp",
    "sftp",
    "smbclient",
    "socat",
    "ssh",
    "telnet",
    "tftp",
    "wget",
];

/// Programs that hand out or use credentials.
const KEEPERS: &[&str] = &[
    "age",
    "aws",
    "az",
    "bw",
    "doctl",
    "gcloud",
    "gh",
    "glab",
    "gopass",
    "gpg",
    "heroku",
    "keyctl",
    "kubectl",
    "op",
    "pass",
    "secret-tool",
    "security",
    "ssh-add",
    "ssh-agent",
    "ssh-keygen",
    "vault",
];

/// Commands that make something public: the program and the argument that does it.
const PUBLISHERS: &[(&str, &[&str])] = &[
    ("bundle", &["release"]),
    ("cargo", &["publish", "yank", "owner"]),
    ("docker", &["push"]),
    ("dotnet", &["nuget"]),
    ("flyctl", &["deploy"]),
    ("gem", &["push", "yank", "owner"]),
    ("gh", &["release", "pr", "repo", "gist", "secret", "workflow", "api"]),
    ("git", &["push", "send-email"]),
    ("gradle", &["publish"]),
    ("helm", &["push", "upgrade", "install"]),
    ("kubectl", &["apply", "create", "delete", "replace"]),
    ("mvn", &["deploy", "release:perform"]),
    ("npm", &["publish", "unpublish", "deprecate", "dist-tag", "owner", "access"]),
    ("npm-cli", &["publish", "unpublish", "deprecate", "dist-tag", "owner", "access"]),
    ("pnpm", &["publish"]),
    ("podman", &["push"]),
    ("poetry", &["publish"]),
    ("terraform", &["apply", "destroy"]),
    ("twine", &["upload"]),
    ("uv", &["publish"]),
    ("vercel", &["deploy"]),
    ("yarn", &["publish", "npm"]),
];

/// Hosts where anybody can leave something for somebody else to fetch, and the domains of such.
const DROPS: &[&str] = &[
    "0x0.st",
    "amazonaws.com",
    "api.telegram.org",
    "azurewebsites.net",
    "blob.core.windows.net",
    "cloudfunctions.net",
    "discord.com",
    "discordapp.com",
    "dropboxapi.com",
    "file.io",
    "firebaseio.com",
    "gist.github.com",
    "githubusercontent.com",
    "hooks.slack.com",
    "ix.io",
    "ngrok-free.app",
    "ngrok.app",
    "ngrok.io",
    "oast.fun",
    "oast.pro",
    "paste.rs",
    "pastebin.com",
    "pipedream.net",
    "requestbin.com",
    "storage.googleapis.com",
    "supabase.co",
    "termbin.com",
    "transfer.sh",
    "trycloudflare.com",
    "uploads.github.com",
    "webhook.site",
    "workers.dev",
];

/// Hosts where a package or a release is published.
const REGISTRIES: &[&str] = &[
    "api.github.com",
    "api.nuget.org",
    "crates.io",
    "docker.io",
    "ghcr.io",
    "gitlab.com",
    "github.com",
    "hub.docker.com",
    "quay.io",
    "registry.npmjs.org",
    "repo.maven.apache.org",
    "rubygems.org",
    "test.pypi.org",
    "upload.pypi.org",
];

/// Where credentials lie, as patterns.
const CREDENTIALS: &[&str] = &[
    "**/.ssh/**",
    "**/.gnupg/**",
    "**/.aws/**",
    "**/.azure/**",
    "**/.config/gcloud/**",
    "**/.config/gh/**",
    "**/.kube/**",
    "**/.docker/config.json",
    "**/.netrc",
    "**/.npmrc",
    "**/.pypirc",
    "**/.git-credentials",
    "**/.cargo/credentials.toml",
    "**/.cargo/credentials",
    "**/.gem/credentials",
    "**/.env",
    "**/.env.local",
    "**/.vault-token",
    "**/.password-store/**",
    "**/id_rsa",
    "**/id_ed25519",
];

/// Besides guarded names: files that the system or a build executes.
const EXECUTED: &[(&str, &str)] = &[
    ("**/bin/*", "a program of this name is executed by whoever calls it"),
    ("/etc/**", "it configures the system"),
    ("**/Makefile", "make executes it"),
    ("**/package.json", "its scripts are executed"),
    ("**/build.rs", "cargo executes it"),
    ("**/conftest.py", "pytest executes it"),
    ("**/setup.py", "pip executes it"),
];

/// What can come of an allow rule.
pub(super) fn of_rule(when: &Match, around: Surroundings<'_>) -> Vec<Risk> {
    let mut risks = match when {
        Match::Exec { program: ProgramPattern::Path(path), args, .. } => {
            let args = args.as_ref().map(|args| Vec::<String>::from(args.clone()));
            of_program(path, args.as_deref(), around)
        }
        Match::Open { path, access } => of_file(path, *access),
        Match::GitPush { changes, .. } => of_push(changes.as_deref()),
        Match::Docker { operation, .. } => of_docker(operation.as_ref().map(ToString::to_string)),
        Match::Lease { .. } => {
            vec![risk(
                RiskClass::Credentials,
                "what the run asks of the host is asked in your name",
            )]
        }
        _ => Vec::new(),
    };
    risks.sort();
    risks.dedup();
    risks
}

fn of_program(path: &PathPattern, args: Option<&[String]>, around: Surroundings<'_>) -> Vec<Risk> {
    let path = path.to_string();
    let file = str::from_utf8(file_name(path.as_bytes())).unwrap_or_default();
    let name = plain_name(file);
    let is = |list: &[&str]| list.contains(&name.as_str());
    let mut risks = Vec::new();
    if is(INTERPRETERS) {
        risks.push(risk(RiskClass::RunsCode, format!("{name} executes what it is given")));
    }
    if is(BUILDERS) {
        let why = format!("{name} executes what build files and packages tell it to");
        risks.push(risk(RiskClass::RunsCode, why));
    }
    if is_written_by_runs(Path::new(&path), around) {
        risks.push(risk(RiskClass::RunsCode, "the run can write this program itself"));
    }
    if is(SENDERS) {
        risks.push(risk(RiskClass::SendsData, format!("{name} speaks to other machines")));
    }
    if is(KEEPERS) {
        risks.push(risk(RiskClass::Credentials, format!("{name} uses or hands out credentials")));
    }
    risks.extend(publishing(&name, args));
    if is(&["rm", "rmdir", "shred", "dd", "mkfs", "wipefs", "truncate", "fdisk", "parted"]) {
        risks.push(risk(RiskClass::Destroys, format!("{name} removes or overwrites")));
    }
    risks
}

/// A publishing command that is among the arguments, or may be.
fn publishing(name: &str, args: Option<&[String]>) -> Option<Risk> {
    if name == "twine" || name == "gh-release" {
        return Some(risk(RiskClass::Publishes, format!("{name} uploads")));
    }
    let (_, commands) = PUBLISHERS.iter().find(|(publisher, _)| *publisher == name)?;
    let open = |arg: &String| arg == "*" || arg == "**";
    let among = |arg: &&String| open(arg) || commands.contains(&arg.as_str());
    let what = match args {
        None => commands.first().copied()?.to_owned(),
        Some(args) => match args.iter().find(among)? {
            arg if open(arg) => format!("{} (among others)", commands.first()?),
            arg => arg.clone(),
        },
    };
    Some(risk(RiskClass::Publishes, format!("{name} {what} is seen by others")))
}

/// `python` for `python3.12`, `gcc` for `x86_64-linux-gnu-gcc-13`, `npm-cli` for `npm-cli.js`.
fn plain_name(file: &str) -> String {
    let file = file.to_ascii_lowercase();
    let endings = [".js", ".cjs", ".mjs", ".py", ".rb", ".pl", ".sh", ".exe"];
    let stem = endings.iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(&file);
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if stem.is_empty() { file } else { stem.to_owned() }
}

/// Whether a program lies where runs write: the project, temporary directories, the home.
fn is_written_by_runs(path: &Path, around: Surroundings<'_>) -> bool {
    let below = |directory: &Path| path.starts_with(directory);
    let temporary = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|place| below(Path::new(place)));
    temporary || below(around.project) || below(around.home)
}

fn of_file(path: &PathPattern, access: Option<FileAccess>) -> Vec<Risk> {
    let mut risks = Vec::new();
    let meant = |text: &str| PathPattern::parse(text).is_ok_and(|known| overlaps(&known, path));
    if CREDENTIALS.iter().any(|known| meant(known)) {
        risks.push(risk(RiskClass::Credentials, "credentials lie there"));
    }
    if access == Some(FileAccess::Read) {
        return risks;
    }
    risks.extend(guarded_name(path).map(|why| risk(RiskClass::WritesWhatRuns, why)));
    let executed = EXECUTED.iter().filter(|(known, _)| meant(known));
    risks.extend(executed.map(|(_, why)| risk(RiskClass::WritesWhatRuns, *why)));
    risks
}

/// What the host does with a file of this name, or of one that `*` may stand for.
fn guarded_name(path: &PathPattern) -> Option<String> {
    if path.glob().segments().last() == Some(&Segment::One) {
        return Some("every file of the directory is meant, .envrc and AGENTS.md too".to_owned());
    }
    let what = match guarded::meaning(path.to_string().as_bytes())? {
        Meaning::Protected(what) => what,
        Meaning::Instructions => "instructions for agents",
    };
    Some(format!("the host acts on it later: {what}"))
}

/// Whether a pattern means something that the path, or a file in its directory, may be. A proposal
/// has no wildcard but `*` at its end.
fn overlaps(known: &PathPattern, proposed: &PathPattern) -> bool {
    let text = proposed.to_string();
    match proposed.glob().segments().last() {
        Some(Segment::One) => {
            let directory = text.strip_suffix("/*").unwrap_or_default();
            let name = known.glob().segments().last();
            let likely = match name {
                Some(Segment::Literal(name)) => name.as_str(),
                _ => "x",
            };
            known.matches(format!("{directory}/{likely}").as_bytes())
        }
        _ => known.matches(text.as_bytes()),
    }
}

fn of_push(changes: Option<&[RefChange]>) -> Vec<Risk> {
    let mut risks = vec![risk(RiskClass::Publishes, "what is pushed is seen by others")];
    let all =
        RefChange::WORDS.iter().filter_map(|word| RefChange::of_word(word)).collect::<Vec<_>>();
    let changes = changes.unwrap_or(&all);
    if changes.iter().any(|change| matches!(change, RefChange::Force | RefChange::Delete)) {
        risks.push(risk(RiskClass::Destroys, "commits of others can be lost"));
    }
    risks
}

fn of_docker(operation: Option<String>) -> Vec<Risk> {
    let operation = operation.unwrap_or_else(|| "any operation".to_owned());
    let why = format!("{operation} acts outside of the sandbox, with Docker's rights");
    vec![risk(RiskClass::RunsCode, why)]
}

/// What can come of a destination.
pub(super) fn of_grant(target: &Target) -> Vec<Risk> {
    let host = target.host.to_string();
    let below = |domain: &&&str| host == **domain || host.ends_with(&format!(".{domain}"));
    let reads_only = target.methods.as_ref().is_some_and(|methods| methods.iter().all(is_read));
    let mut risks = Vec::new();
    if let Some(domain) = DROPS.iter().find(below) {
        let why = format!("anybody can fetch from {domain} what the run leaves there");
        risks.push(risk(RiskClass::SendsData, why));
    } else if target.methods.is_none() {
        risks.push(risk(RiskClass::SendsData, "nobody sees what goes through the connection"));
    } else if !reads_only {
        risks.push(risk(RiskClass::SendsData, "requests carry data to the host"));
    } else if target.paths.is_none() {
        risks.push(risk(RiskClass::SendsData, "an address can carry data, too"));
    }
    if let Some(registry) = REGISTRIES.iter().find(below).filter(|_| !reads_only) {
        let why = format!("with a credential, packages and commits are published at {registry}");
        risks.push(risk(RiskClass::Publishes, why));
    }
    risks.sort();
    risks
}

fn is_read(method: &Method) -> bool {
    use Method::{Get, Head, Options};
    matches!(method, Get | Head | Options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around() -> Surroundings<'static> {
        Surroundings { home: Path::new("/home/ann"), project: Path::new("/home/ann/site") }
    }

    fn classes(risks: &[Risk]) -> Vec<RiskClass> {
        let mut classes: Vec<_> = risks.iter().map(|risk| risk.class).collect();
        classes.dedup();
        classes
    }

    fn program(path: &str, args: &[&str]) -> Vec<RiskClass> {
        let when = Match::Exec {
            program: ProgramPattern::parse(path).unwrap(),
            args: Some(crate::ArgsPattern::parse(args.iter().copied()).unwrap()),
            cwd: None,
        };
        classes(&of_rule(&when, around()))
    }

    fn file(path: &str, access: FileAccess) -> Vec<RiskClass> {
        let path = PathPattern::parse(path).unwrap();
        classes(&of_rule(&Match::Open { path, access: Some(access) }, around()))
    }

    #[test]
    fn programs() {
        use RiskClass::{Credentials, Destroys, Publishes, RunsCode, SendsData};
        assert_eq!(program("/usr/bin/python3.12", &["-c", "x"]), [RunsCode]);
        assert_eq!(program("/usr/bin/cargo", &["build"]), [RunsCode]);
        assert_eq!(program("/usr/bin/cargo", &["publish"]), [RunsCode, Publishes]);
        assert_eq!(program("/usr/bin/cargo", &["*"]), [RunsCode, Publishes]);
        assert_eq!(program("/usr/lib/npm/bin/npm-cli.js", &["publish"]), [RunsCode, Publishes]);
        assert_eq!(program("/usr/bin/git", &["push", "origin"]), [Publishes, SendsData]);
        assert_eq!(program("/usr/bin/git", &["status"]), [SendsData]);
        assert_eq!(program("/home/ann/site/target/debug/x", &[]), [RunsCode]);
        assert_eq!(program("/usr/bin/gpg", &["--sign"]), [Credentials]);
        assert_eq!(program("/usr/bin/rm", &["-r", "x"]), [Destroys]);
        assert_eq!(program("/usr/bin/ls", &[]), []);
    }

    #[test]
    fn files() {
        use FileAccess::{Read, Write};
        use RiskClass::{Credentials, WritesWhatRuns};
        assert_eq!(file("/home/ann/site/.git/hooks/pre-commit", Write), [WritesWhatRuns]);
        assert_eq!(file("/home/ann/site/.git/hooks/pre-commit", Read), []);
        assert_eq!(
            file("/home/ann/site/*", Write),
            [WritesWhatRuns, Credentials],
            "AGENTS.md, .env"
        );
        assert_eq!(file("/home/ann/site/src/a.rs", Write), []);
        assert_eq!(file("/home/ann/.ssh/id", Read), [Credentials]);
        assert_eq!(file("/home/ann/.ssh/*", Read), [Credentials]);
    }

    #[test]
    fn every_class_has_its_word() {
        for word in RiskClass::WORDS {
            let class = RiskClass::of_word(word).unwrap();
            assert_eq!(serde_json::to_string(&class).unwrap(), format!("\"{word}\""));
        }
        for pattern in CREDENTIALS.iter().chain(EXECUTED.iter().map(|(pattern, _)| pattern)) {
            assert!(PathPattern::parse(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn destinations() {
        use RiskClass::{Publishes, SendsData};
        let target = |host: &str, methods: Option<Vec<Method>>, paths: Option<&str>| Target {
            host: names::HostPattern::parse(host).unwrap(),
            ports: None,
            methods,
            paths: paths.map(|path| vec![PathPattern::parse(path).unwrap()]),
        };
        let of = |target: Target| classes(&of_grant(&target));
        assert_eq!(of(target("example.com", None, None)), [SendsData]);
        assert_eq!(of(target("example.com", Some(vec![Method::Get]), Some("/a"))), []);
        assert_eq!(of(target("example.com", Some(vec![Method::Post]), Some("/a"))), [SendsData]);
        assert_eq!(of(target("x.pastebin.com", Some(vec![Method::Get]), None)), [SendsData]);
        assert_eq!(of(target("upload.pypi.org", None, None)), [Publishes, SendsData]);
    }
}
