//! The policy's figures, a line each: microseconds for one verdict with 1,000 rules, the mean over
//! a mix of actions and the worst single action of it. `--smoke` takes a fraction of the time and
//! proves only that the benchmark runs. `cargo bench -p policy`

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark reports to a person"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use policy::{Action, Authority, Flags, Layer, NoLibrary, Request, Source, resolve};

/// Rounds of which the best counts, so that what else runs on the machine does not.
const ROUNDS: u32 = 20;

fn main() {
    let smoke = std::env::args().any(|word| word == "--smoke");
    let time = Duration::from_millis(if smoke { 1 } else { 50 });
    let text = profile();
    let authority = authority(&text);
    let rules = authority.rules.len() + authority.network.len();
    let actions: Vec<Action> = ACTIONS.iter().map(|text| Action::parse(text).unwrap()).collect();
    let each: Vec<f64> =
        actions.iter().map(|action| best(time, || decide(&authority, action))).collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let kinds = ACTIONS.len();
    println!("verdict {mean:.2} mean of {kinds} actions, {rules} rules, reasons included");
    let (worst, at) = ACTIONS.iter().zip(&each).max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    println!("verdict-worst {at:.2} {worst}");
    println!(
        "resolve {:.0} from the texts, self-tests included",
        best(time, || authority_of(&text))
    );
    let offline = "[profile]\nextends = \"offline\"";
    println!("resolve-offline {:.0} the default profile", best(time, || authority_of(offline)));
}

/// Microseconds of one call: the best round's mean.
fn best(time: Duration, call: impl Fn()) -> f64 {
    let round = || {
        let start = Instant::now();
        let mut calls = 0u32;
        while start.elapsed() < time / ROUNDS {
            for _ in 0..16 {
                call();
            }
            calls += 16;
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn decide(authority: &Authority, action: &Action) {
    black_box(authority.decide(black_box(action)));
}

fn authority_of(text: &str) {
    black_box(authority(black_box(text)));
}

/// Allowed, asked and denied; by a rule, by several, by default.
const ACTIONS: &[&str] = &[
    "exec /usr/bin/tool-7 publish --now",
    "exec /usr/bin/ls -l",
    "exec /opt/tools/v-12/bin/x run",
    "open /home/ann/site/src/deep/er/still/main.rs write",
    "open /home/ann/site/area-31/secret/key read",
    "open /home/ann/site/vendor/sub/.hidden-9/file write",
    "connect host-17.example.com",
    "connect a.b.zone-3.example.net",
    "connect example.org",
    "resolve host-17.example.com",
    "http GET host-17.example.com/path/to/thing",
    "http POST host-18.example.com/path/to/thing",
];

/// A thousand rules of every form.
fn profile() -> String {
    let mut text = String::new();
    for n in 0..200 {
        write!(text, "[[network]]\nhost = \"host-{n}.example.com\"\nmethods = [\"GET\"]\n")
            .unwrap();
        rule(
            &mut text,
            &format!("host-{n}"),
            "connect",
            "deny",
            &format!("host = \"**.zone-{n}.example.net\""),
        );
        rule(
            &mut text,
            &format!("tool-{n}"),
            "exec",
            "ask",
            &format!("program = \"tool-{n}\"\nargs = [\"publish\", \"**\"]"),
        );
        rule(
            &mut text,
            &format!("area-{n}"),
            "open",
            "deny",
            &format!("path = \"/home/ann/site/area-{n}/**\""),
        );
    }
    for n in 0..100 {
        rule(
            &mut text,
            &format!("hidden-{n}"),
            "open",
            "ask",
            &format!("path = \"**/.hidden-{n}/**\"\naccess = \"write\""),
        );
        rule(
            &mut text,
            &format!("version-{n}"),
            "exec",
            "deny",
            &format!("program = \"/opt/tools/v-{n}/bin/*\""),
        );
    }
    text
}

fn rule(text: &mut String, id: &str, action: &str, verdict: &str, more: &str) {
    write!(
        text,
        "[[rule]]\nid = \"{id}\"\naction = \"{action}\"\nverdict = \"{verdict}\"\n{more}\n"
    )
    .unwrap();
}

fn authority(text: &str) -> Authority {
    let profile =
        Source { layer: Layer::Named, name: "bench.toml".to_owned(), text: text.to_owned() };
    let request = Request {
        profile: Some(profile),
        profile_name: "bench".to_owned(),
        owner: None,
        project: None,
        flags: Flags::default(),
        home: PathBuf::from("/home/ann"),
        project_dir: PathBuf::from("/home/ann/site"),
        subject: "ann".to_owned(),
        library: &NoLibrary,
    };
    match resolve(request) {
        Ok(resolved) => resolved.authority,
        Err(errors) => panic!("{errors}"),
    }
}
