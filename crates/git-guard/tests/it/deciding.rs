//! What leaves is what the policy allows, all of it, or nothing.

use std::collections::{BTreeMap, HashSet};
use std::io::Cursor;
use std::sync::Arc;

use broker::Broker;
use git_guard::wire::target::Asked;
use git_guard::{Answer, GitGate, Push, Recognised, Store, Unsent};
use ledger::Ledger;
use names::{Host, Port, RunId, Timestamp};
use policy::{Authority, Connect};
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::{Builder, Runtime};

const ZERO: &str = "0000000000000000000000000000000000000000";
const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";
const PACK: &[u8] = b"PACK\0\0\0\x02\0\0\0\0";
const CAPABILITIES: &str = "\0 report-status side-band-64k";

const PROFILE: &str = "[git]\npush = [\"refs/heads/loop/*\"]\n\
    [[rule]]\nid = \"tags\"\naction = \"git-push\"\nrefs = [\"refs/tags/*\"]\n\
    changes = [\"delete\"]\nverdict = \"allow\"\n\
    [[rule]]\nid = \"locked\"\naction = \"git-push\"\nrefs = [\"refs/heads/loop/locked\"]\n\
    verdict = \"deny\"\n";

/// What the remote has.
const THERE: &[&str] = &["refs/heads/main", "refs/heads/loop/theirs", "refs/tags/v1"];

const NAMES: &[&str] = &[
    "refs/heads/main",
    "refs/heads/MAIN",
    "refs/heads/loop/a",
    "refs/heads/loop/b",
    "refs/heads/loop/A",
    "refs/heads/loop/locked",
    "refs/heads/loop/LOCKED",
    "refs/heads/loop/theirs",
    "refs/heads/loop/Theirs",
    "refs/heads/loop/x/y",
    "refs/heads/Loop/a",
    "refs/tags/v1",
    "refs/tags/v2",
];

fn authority() -> Arc<Authority> {
    let source = policy::Source {
        layer: policy::Layer::Named,
        name: "test.toml".to_owned(),
        text: PROFILE.to_owned(),
    };
    let request = policy::Request {
        profile: Some(source),
        profile_name: "test".to_owned(),
        owner: None,
        project: None,
        flags: policy::Flags::default(),
        home: "/home/ann".into(),
        project_dir: "/home/ann/site".into(),
        subject: "ann".to_owned(),
        library: &policy::NoLibrary,
    };
    Arc::new(policy::resolve(request).unwrap().authority)
}

fn clock() -> Timestamp {
    Timestamp::from_millis(0)
}

struct Scene {
    place: TempDir,
    runtime: Runtime,
    gate: GitGate,
}

impl Scene {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let run = RunId::parse("260101-abcdef").unwrap();
        let ledger = Ledger::create(&place.path().join("ledger.jsonl"), &run, clock).unwrap();
        let store = Store::new(place.path(), &BTreeMap::new(), None, None);
        let gate = GitGate::new(Broker::new(authority(), ledger), store);
        let runtime = Builder::new_current_thread().build().unwrap();
        let scene = Self { place, runtime, gate };
        scene.discover();
        scene
    }

    fn push(&self, method: &str, target: &str, content_type: Option<&str>) -> Box<Push> {
        let connect = Connect { host: Host::parse("github.com").unwrap(), port: Port::HTTPS };
        let asked = Asked {
            method: method.to_owned(),
            target: target.to_owned(),
            content_type: content_type.map(str::to_owned),
            content_encoding: None,
        };
        match self.gate.recognise(&connect, asked) {
            Some(Recognised::Push(push)) => push,
            _ => panic!("{target} could push"),
        }
    }

    fn discover(&self) {
        let mut push = self.push("GET", "/ann/site/info/refs?service=git-receive-pack", None);
        let mut answer = pkt("# service=git-receive-pack\n");
        answer.extend(b"0000");
        THERE.iter().for_each(|name| answer.extend(pkt(&format!("{ONE} {name}\n"))));
        answer.extend(b"0000");
        self.runtime.block_on(async {
            assert!(push.judge(Box::pin(Cursor::new(Vec::new()))).await.is_ok());
            push.answers(200);
            push.reads(&answer);
            push.done(true).await;
        });
    }

    /// What leaves, or what is answered; then the server's answer.
    fn carry(&self, body: &[u8], answered: Option<&[u8]>) -> Result<Vec<u8>, Answer> {
        let kind = "application/x-git-receive-pack-request";
        let mut push = self.push("POST", "/ann/site/git-receive-pack", Some(kind));
        self.runtime.block_on(async {
            match push.judge(Box::pin(Cursor::new(body.to_vec()))).await {
                Ok(mut body) => {
                    let mut sent = Vec::new();
                    body.read_to_end(&mut sent).await.unwrap();
                    push.answers(200);
                    answered.into_iter().for_each(|bytes| push.reads(bytes));
                    push.done(answered.is_some()).await;
                    Ok(sent)
                }
                Err(Unsent::Refused(answer)) => Err(answer),
                Err(Unsent::Broken(error)) => panic!("{error}"),
            }
        })
    }

    fn records(&self, kind: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.place.path().join("ledger.jsonl")).unwrap();
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let records = records.filter(|record| record["kind"] == kind);
        records.map(|record| record["body"].clone()).collect()
    }
}

fn pkt(text: &str) -> Vec<u8> {
    format!("{:04x}{text}", text.len() + 4).into_bytes()
}

type Asks = (&'static str, &'static str, &'static str);

fn body(commands: &[Asks]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, (old, new, name)) in commands.iter().enumerate() {
        let capabilities = if number == 0 { CAPABILITIES } else { "" };
        bytes.extend(pkt(&format!("{old} {new} {name}{capabilities}")));
    }
    bytes.extend(b"0000");
    if commands.iter().any(|(_, new, _)| *new != ZERO) {
        bytes.extend(PACK);
    }
    bytes
}

/// Whether a command alone is allowed; told by hand, from what the profile says in words.
fn is_allowed((old, new, name): Asks) -> bool {
    let lower = name.to_lowercase();
    let twin = THERE.iter().any(|there| there.to_lowercase() == lower && *there != name);
    if twin || lower == "refs/heads/loop/locked" {
        return false;
    }
    match (old == ZERO, new == ZERO) {
        (_, true) => name.strip_prefix("refs/tags/").is_some_and(|tag| !tag.contains('/')),
        // Nobody has the objects, so what moves may not follow.
        (false, false) => false,
        (true, false) => {
            name.strip_prefix("refs/heads/loop/").is_some_and(|branch| !branch.contains('/'))
        }
    }
}

fn command() -> impl Strategy<Value = Asks> {
    let moves = prop::sample::select(vec![(ZERO, ONE), (ZERO, TWO), (ONE, TWO), (ONE, ZERO)]);
    (moves, prop::sample::select(NAMES)).prop_map(|((old, new), name)| (old, new, name))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn all_that_is_allowed_leaves_or_nothing(commands in prop::collection::vec(command(), 1..5)) {
        let scene = Scene::new();
        let bytes = body(&commands);
        let names: HashSet<_> = commands.iter().map(|(_, _, name)| name.to_lowercase()).collect();
        let allowed =
            names.len() == commands.len() && commands.iter().all(|command| is_allowed(*command));
        let carried = scene.carry(&bytes, None);
        if allowed {
            prop_assert_eq!(carried, Ok(bytes));
            prop_assert_eq!(scene.records("git-push.intent").len(), commands.len());
            let results = scene.records("git-push.result");
            prop_assert_eq!(results.len(), commands.len());
            prop_assert_eq!(&results[0]["result"]["outcome"], "unknown");
        } else {
            let answer = carried.unwrap_err();
            prop_assert!(String::from_utf8_lossy(&answer.body).contains("denied by Loop"));
            prop_assert_eq!(scene.records("git-push.intent").len(), 0);
            prop_assert!(!scene.records("denied").is_empty());
        }
    }
}

fn reported(lines: &[&str]) -> Vec<u8> {
    let report: Vec<u8> = lines.iter().flat_map(|line| pkt(&format!("{line}\n"))).collect();
    let report = [&report[..], b"0000"].concat();
    let mut answer = format!("{:04x}\u{1}", report.len() + 5).into_bytes();
    answer.extend(report);
    answer.extend(b"0000");
    answer
}

#[test]
fn what_the_server_says_is_on_record_and_makes_a_reference_ones_own() {
    let scene = Scene::new();
    let two = [(ZERO, ONE, "refs/heads/loop/a"), (ZERO, ONE, "refs/heads/loop/b")];
    let answer = reported(&["unpack ok", "ok refs/heads/loop/a", "ng refs/heads/loop/b no room"]);
    scene.carry(&body(&two), Some(&answer)).unwrap();
    let outcomes = |scene: &Scene| -> Vec<String> {
        let results = scene.records("git-push.result");
        results.iter().map(|one| one["result"].to_string()).collect()
    };
    assert_eq!(
        outcomes(&scene),
        [r#"{"outcome":"changed"}"#, r#"{"outcome":"refused","why":"no room"}"#]
    );
    // The first is the run's own now, the second is not.
    assert!(scene.carry(&body(&[(ONE, TWO, "refs/heads/loop/a")]), None).is_ok());
    assert!(scene.carry(&body(&[(ONE, TWO, "refs/heads/loop/b")]), None).is_err());
    // From somewhere else than where this run put it, it would be somebody's work that is lost.
    assert!(scene.carry(&body(&[(TWO, ONE, "refs/heads/loop/a")]), None).is_err());
}

#[test]
fn what_is_refused_names_each_reference() {
    let scene = Scene::new();
    let two = [(ZERO, ONE, "refs/heads/loop/a"), (ZERO, ONE, "refs/heads/loop/locked")];
    let answer = scene.carry(&body(&two), None).unwrap_err();
    assert_eq!(answer.status, 200);
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    for part in [
        "ng refs/heads/loop/a another reference of this push is refused",
        "ng refs/heads/loop/locked denied by Loop: ",
        "(locked, test.toml:",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(scene.records("denied").len(), 2);
}

#[test]
fn a_probe_passes_and_what_is_no_push_does_not() {
    let scene = Scene::new();
    assert_eq!(scene.carry(b"0000", None), Ok(b"0000".to_vec()));
    for bad in [&b"0001"[..], b"", b"00000000", b"0009hello0000PACK"] {
        assert_eq!(scene.carry(bad, None).unwrap_err().status, 403, "{bad:?}");
    }
    assert_eq!(scene.records("git-push.intent").len(), 0);
}
