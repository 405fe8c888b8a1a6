//! Everything malformed, and what is said about it: file, line, key, problem, fix.

use std::collections::BTreeMap;

use names::Span;
use policy::{Flags, Mode, Request};

use crate::support::{Shelf, errors, request, source, with_owner, with_profile, with_project};

/// What is said about each of the texts, as a named profile.
fn told(texts: &[&str]) -> String {
    texts.iter().map(|text| told_of(text, with_profile(text))).collect::<Vec<_>>().join("\n")
}

fn told_of(text: &str, request: Request<'_>) -> String {
    let Err(errors) = policy::resolve(request) else { panic!("it resolves: {text}") };
    for error in errors.errors() {
        let file = error.origin.line > 0 || error.origin.source == "command line";
        assert!(file, "{error} has a line");
        assert!(!error.fix().is_empty(), "{error} has a fix");
    }
    let shown: Vec<_> = text.trim().lines().map(|line| format!("| {}", line.trim())).collect();
    format!("{}\n{errors}\n", shown.join("\n"))
}

#[test]
fn syntax() {
    insta::assert_snapshot!(told(&[
        "[limits",
        "[limits]\nmemory = 4GiB",
        "[limits]\nmemory = \"1GiB\"\nmemory = \"2GiB\"",
        "[limits]\n[limits]",
        "= 1\n[limits]\ncpus = ,",
    ]));
}

#[test]
fn unknown_words() {
    insta::assert_snapshot!(told(&[
        "[limit]\nmemory = \"1GiB\"",
        "[frobnicate]",
        "memory = \"1GiB\"",
        "[limits]\nmemroy = \"1GiB\"",
        "[limits]\nswap = \"1GiB\"",
        "[workspace]\nmode = \"overlya\"",
        "[workspace]\nmode = \"none\"",
        "[[mount]]\npath = \"/srv\"\naccess = \"rw\"",
        "[[rule]]\naction = \"exce\"\nverdict = \"deny\"",
        "[[rule]]\naction = \"exec\"\nverdict = \"allowed\"",
        "[[rule]]\naction = \"git_push\"\nverdict = \"deny\"",
        "[defaults]\nfile = \"deny\"",
        "[defaults]\nexec = \"no\"",
        "[sandbox]\nnetwork = true",
        "[[network]]\nhost = \"example.com\"\nmethods = [\"get\", \"FETCH\"]",
        "[[expect]]\naction = \"connct\"\nhost = \"example.com\"\nverdict = \"deny\"",
    ]));
}

#[test]
fn wrong_shapes() {
    insta::assert_snapshot!(told(&[
        "[mount]\npath = \"/srv\"",
        "[[limits]]\nmemory = \"1GiB\"",
        "limits = 1",
        "network = [1]",
        "[limits]\nmemory = 4294967296",
        "[limits]\ncpus = \"2\"",
        "[limits]\ncpus = nan",
        "[limits]\nprocesses = 1.5",
        "[limits]\nprocesses = 99999999999999999999",
        "[limits]\nwall = 10:00:00",
        "[sandbox]\ntoolchains = \"no\"",
        "[[network]]\nhost = [\"example.com\"]",
        "[[network]]\nhost = \"example.com\"\nports = 443",
        "[[network]]\nhost = \"example.com\"\nports = [\"https\", 443]",
        "[environment]\nset = [\"A=B\"]",
        "[environment]\nset = { A = 1, B = \"b\" }",
        "[environment]\npass = \"A\"",
        "[[mount]]\naccess = \"read\"",
        "[[rule]]\nid = \"x\"",
    ]));
}

#[test]
fn limits_that_cannot_be_enforced() {
    insta::assert_snapshot!(told(&[
        "[limits]\nmemory = \"0\"",
        "[limits]\nmemory = \"4G\"",
        "[limits]\nmemory = \"-1GiB\"",
        "[limits]\nmemory = \"9999999TiB\"",
        "[limits]\ncpus = 0",
        "[limits]\ncpus = -1.0",
        "[limits]\nprocesses = 0",
        "[limits]\nprocesses = -5",
        "[limits]\ndisk = \"1B\"",
        "[limits]\nwall = \"0s\"",
        "[limits]\nwall = \"an hour\"",
        "[limits]\noutput = \"0\"",
    ]));
}

#[test]
fn hosts() {
    let hosts = [
        "*",
        "**",
        "com",
        "*.com",
        "co.uk",
        "**.co.uk",
        "*.github.io",
        "a.*.com",
        "a*.example.com",
        "https://example.com",
        "example.com:443",
        "example.com/path",
        "user@example.com",
        "localhost",
        "metadata.google.internal",
        "a.svc.cluster.local",
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f000001",
        "127.0.0.1",
        "10.0.0.7",
        "169.254.169.254",
        "::1",
        "::ffff:127.0.0.1",
        "[example.com]",
        "-a.example.com",
        "",
        " ",
        "a..example.com",
    ];
    let texts: Vec<_> =
        hosts.iter().map(|host| format!("[[network]]\nhost = \"{host}\"")).collect();
    insta::assert_snapshot!(told(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn network() {
    insta::assert_snapshot!(told(&[
        "[[network]]\nhost = \"example.com\"\nports = [0, 65537, -1]",
        "[[network]]\nhost = \"example.com\"\npaths = [\"v1/*\", \"/v1/*.json\", \"/a/../b\", \"\"]",
        "[[network]]\nhost = \"example.com\"\nmax_bytes = \"lots\"",
        "[[network]]\nhost = \"example.com\"\naddresses = [\"10.0.0.0/8\"]\ndial = \"10.0.0.1:1\"\nca_file = \"/ca\"",
        "[[network]]\nports = [443]",
    ]));
    let owner = "[[network]]\nhost = \"example.com\"\naddresses = [\"10.0.0.1/8\", \"ten\"]\n\
                 dial = \"10.0.0.1\"\nca_file = \"ca.pem\"";
    insta::assert_snapshot!(told_of(owner, with_owner(request("offline"), owner)));
}

#[test]
fn patterns_and_rule_forms_that_are_not_supported() {
    let rule = |rest: &str| format!("[[rule]]\nverdict = \"deny\"\n{rest}");
    let texts = [
        "action = \"exec\"\nprogram = \"car*\"",
        "action = \"exec\"\nprogram = \"bin/cargo\"",
        "action = \"exec\"\nprogram = \"\"",
        "action = \"exec\"\nprogram = \"/usr/bin/python3?\"",
        "action = \"exec\"\nargs = [\"--file=*\"]",
        "action = \"exec\"\ncwd = \"relative\"",
        "action = \"exec\"\npath = \"/x\"",
        "action = \"exec\"\nhost = \"example.com\"\nports = [443]",
        "action = \"open\"",
        "action = \"open\"\npath = \"/etc/*.conf\"",
        "action = \"open\"\npath = \"/etc/{a,b}\"",
        "action = \"open\"\npath = \"/etc/[ab]\"",
        "action = \"open\"\npath = \"!/etc\"",
        "action = \"open\"\npath = \"/etc/\"",
        "action = \"open\"\npath = \"/etc/..\"",
        "action = \"open\"\npath = \"~bob/x\"",
        "action = \"open\"\npath = \"/x\"\naccess = \"execute\"",
        "action = \"connect\"",
        "action = \"connect\"\nhost = \"example.com\"\nports = []",
        "action = \"connect\"\nhost = \"example.com\"\nmethods = [\"GET\"]",
        "action = \"http\"\nhost = \"example.com\"\npaths = []",
        "action = \"resolve\"\nhost = \"example.com\"\nports = [53]",
        "action = \"git-push\"\nrefs = [\"a..b\", \"re*\", \"\"]",
        "action = \"git-push\"\nrefs = []",
        "action = \"git-push\"\nchanges = [\"rewrite\"]",
        "action = \"tool\"\ntool = \"ba*\"",
        "action = \"docker\"\noperation = \"container//create\"",
        "action = \"undo\"\nprogram = \"x\"",
        "action = \"exec\"\nid = \"Not An Id\"",
    ];
    let texts: Vec<_> = texts.iter().map(|text| rule(text)).collect();
    let mut told = told(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let ask = "[[rule]]\naction = \"mount\"\npath = \"/srv\"\nverdict = \"ask\"";
    told += &told_of(ask, with_profile(ask));
    insta::assert_snapshot!(told);
}

#[test]
fn paths() {
    let paths = [
        "",
        "data",
        "./data",
        "../data",
        "/srv/../etc",
        "/srv//data",
        "/srv/",
        "/srv/*",
        "~bob/x",
        "~/../x",
        "~//x",
        "/a\\u0000b",
        "/a\\nb",
    ];
    let texts: Vec<_> = paths.iter().map(|path| format!("[[mount]]\npath = \"{path}\"")).collect();
    insta::assert_snapshot!(told(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn mounts_that_are_denied() {
    let paths =
        ["/", "/run/user/1000", "/var/run/docker.sock", "/proc", "/proc/1/root", "/dev/shm"];
    let texts: Vec<_> = paths.iter().map(|path| format!("[[mount]]\npath = \"{path}\"")).collect();
    let mut told = told(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let owner = "[[rule]]\nid = \"keys-stay\"\naction = \"mount\"\npath = \"~/.ssh/**\"\n\
                 verdict = \"deny\"\nreason = \"keys stay at home\"";
    for path in ["~", "~/.ssh", "~/.ssh/id"] {
        let text = format!("[[mount]]\npath = \"{path}\"");
        told += "\n";
        told += &told_of(&text, with_owner(with_profile(&text), owner));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn environment() {
    insta::assert_snapshot!(told(&[
        "[environment]\npass = [\"*\"]",
        "[environment]\npass = [\"A*B\", \"1A\", \"A=B\", \"\", \"a-b\"]",
        "[environment]\npass = [\"LD_PRELOAD\", \"GIT_*\", \"NODE_OPTIONS\"]",
        "[environment]\npass = [\"A\"]\nset = { A = \"1\" }",
        "[environment]\npass = [\"A_B\"]\ndeny = [\"A_*\"]",
        "[environment]\nset = { \"A=B\" = \"1\", \"\" = \"2\", C = \"a\\u0000b\" }",
    ]));
}

#[test]
fn contradictions() {
    insta::assert_snapshot!(told(&[
        "[[rule]]\naction = \"exec\"\nprogram = \"cargo\"\nverdict = \"deny\"\n\
         [[rule]]\naction = \"exec\"\nprogram = \"cargo\"\nverdict = \"allow\"",
        "[[network]]\nhost = \"example.com\"\n\
         [[rule]]\naction = \"connect\"\nhost = \"example.com\"\nports = [443]\nverdict = \"deny\"",
        "[[network]]\nhost = \"example.com\"\n\
         [[rule]]\naction = \"connect\"\nhost = \"EXAMPLE.com.\"\nverdict = \"deny\"",
        "[[rule]]\naction = \"connect\"\nhost = \"example.com\"\nverdict = \"allow\"\n\
         [[rule]]\naction = \"connect\"\nhost = \"EXAMPLE.com.\"\nverdict = \"ask\"",
        "[git]\npush = [\"main\"]\n[[rule]]\naction = \"git-push\"\nrefs = [\"refs/heads/main\"]\n\
         changes = [\"update\", \"create\"]\nverdict = \"deny\"",
        "[[mount]]\npath = \"/srv\"\n[[mount]]\npath = \"/srv\"\naccess = \"write\"",
        "[[rule]]\nid = \"a\"\naction = \"exec\"\nprogram = \"x\"\nverdict = \"deny\"\n\
         [[rule]]\nid = \"a\"\naction = \"exec\"\nprogram = \"y\"\nverdict = \"deny\"",
        "[defaults]\nconnect = \"allow\"\nhttp = \"ask\"\nmount = \"ask\"",
    ]));
}

#[test]
fn what_belongs_into_another_file() {
    let owner = "[profile]\nname = \"x\"";
    let project = "[profile]\nextends = \"develop\"\n[[network]]\nhost = \"example.com\"\n\
                   dial = \"10.0.0.1:443\"";
    insta::assert_snapshot!(
        [
            told_of(owner, with_owner(request("offline"), owner)),
            told_of(project, with_project(request("offline"), project)),
        ]
        .join("\n")
    );
}

#[test]
fn profiles_that_extend_each_other() {
    let library = Shelf(BTreeMap::from([
        ("a", "[profile]\nextends = \"b\""),
        ("b", "[profile]\nextends = \"c\""),
        ("c", "[profile]\nextends = \"a\""),
        ("self", "[profile]\nextends = \"self\""),
        ("lost", "[profile]\nextends = \"develpo\""),
        ("reads-broken", "[profile]\nextends = \"broken\""),
        ("hides", "[profile]\nname = \"offline\""),
        ("other", "[profile]\nname = \"another\""),
        ("develop", "[limits]\nmemory = \"1GiB\""),
        ("escapes", "[profile]\nextends = \"../../etc/passwd\""),
    ]));
    let names = [
        "a",
        "self",
        "lost",
        "reads-broken",
        "hides",
        "other",
        "develop",
        "escapes",
        "nosuch",
        "ofline",
        "broken",
        "Not/A/Name",
    ];
    let told: Vec<_> = names
        .iter()
        .map(|name| told_of(name, Request { library: &library, ..request(name) }))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_file_cannot_pass_for_a_built_in_profile() {
    let text = "[profile]\nname = \"offline\"";
    insta::assert_snapshot!(told_of(text, with_profile(text)));
}

#[test]
fn too_deep() {
    let texts: Vec<(String, String)> = (0..20)
        .map(|n| (format!("p{n}"), format!("[profile]\nextends = \"p{}\"", n + 1)))
        .collect();
    struct Many(BTreeMap<String, String>);
    impl policy::Library for Many {
        fn find(&self, name: &str) -> Result<Option<policy::Source>, String> {
            Ok(self.0.get(name).map(|text| source(&format!("{name}.toml"), text)))
        }
    }
    let library = Many(texts.into_iter().collect());
    let request = Request { library: &library, ..request("p0") };
    insta::assert_snapshot!(errors(request));
}

#[test]
fn too_long() {
    let text = "#".repeat((1 << 20) + 1);
    insta::assert_snapshot!(errors(with_profile(&text)));
}

#[test]
fn flags() {
    let profile = "[workspace]\nmode = \"read-only\"\n[limits]\nwall = \"1h\"";
    let flags = Flags {
        mode: Some(Mode::Direct),
        environment: vec![("A=B".into(), "1".into()), ("C".into(), "a\0b".into())],
        wall: Some(Span::from_secs(7200)),
        ..Flags::default()
    };
    let wider = errors(Request { flags, ..with_profile(profile) });
    let flags = Flags { wall: Some(Span::from_millis(0)), ..Flags::default() };
    let nothing = errors(Request { flags, ..request("offline") });
    insta::assert_snapshot!(format!("{wider}\n{nothing}"));
}

#[test]
fn expectations() {
    insta::assert_snapshot!(told(&[
        "[[expect]]\naction = \"connect\"\nhost = \"example.com\"\nverdict = \"allow\"",
        "[profile]\nextends = \"develop\"\n[[expect]]\naction = \"connect\"\nhost = \"pypi.org\"\n\
         verdict = \"allow\"\nrule = \"mine\"",
        "[[expect]]\naction = \"connect\"\nverdict = \"deny\"",
        "[[expect]]\naction = \"connect\"\nhost = \"example.com\"\nmethod = \"GET\"\nverdict = \"deny\"",
        "[[expect]]\naction = \"exec\"\nverdict = \"deny\"",
        "[[expect]]\naction = \"git-push\"\nhost = \"github.com\"\nrepository = \"a/b\"\nref = \"a b\"\n\
         verdict = \"deny\"",
        "[[expect]]\naction = \"http\"\nhost = \"com\"\nport = 0\nverdict = \"deny\"",
    ]));
}

/// Problems of all files are told at once, in the order of files and lines.
#[test]
fn all_at_once() {
    let profile = "[limits]\nmemroy = \"1GiB\"\ncpus = 0\n[[network]]\nhost = \"*\"\nports = [0]\n\
                   [[rule]]\naction = \"exce\"\nverdict = \"alow\"\n[[mount]]\npath = \"/proc\"";
    let owner = "[environment]\npass = [\"*\"]\n[profile]\nname = \"x\"";
    let project = "[limits]\nwall = 5";
    let flags = Flags { wall: Some(Span::from_millis(0)), ..Flags::default() };
    let request = with_project(with_owner(with_profile(profile), owner), project);
    insta::assert_snapshot!(errors(Request { flags, ..request }));
}
