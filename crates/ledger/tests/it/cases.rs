//! Every test vector: the files, and what a verifier must say about them. The expectations are
//! written by hand; no verifier made them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use names::Digest;
use serde_json::{Map, Value, json};

use crate::forge::{
    Entry, OTHER_RUN, RUN, bytes_of, envelope, hash_of, head_line, key, key_id, line, lines,
    malleated, public_text, rehashed, replaced, signature, with_end,
};

/// Files by name; `cases.json` says what to make of them.
pub(crate) fn files() -> BTreeMap<String, Vec<u8>> {
    let mut set = Set::default();
    set.file("trusted.pub", public_text(&key(1)).into_bytes());
    set.file("other.pub", public_text(&key(2)).into_bytes());
    set.file("changes.json", changes());
    ledgers(&mut set);
    receipts(&mut set);
    set.finish()
}

#[derive(Default)]
struct Set {
    files: BTreeMap<String, Vec<u8>>,
    cases: Vec<Value>,
}

impl Set {
    fn file(&mut self, name: &str, bytes: Vec<u8>) {
        assert!(self.files.insert(name.to_owned(), bytes).is_none(), "{name} twice");
    }

    /// A ledger by itself.
    fn ledger(&mut self, name: &str, bytes: Vec<u8>, known: Value, expect: Value) {
        let file = format!("{name}.ledger");
        self.file(&file, bytes);
        self.look(name, &file, known, expect);
    }

    /// Another look at a ledger that is there.
    fn look(&mut self, name: &str, file: &str, known: Value, expect: Value) {
        let mut case = json!({"name": name, "ledger": file, "expect": expect});
        case.as_object_mut().unwrap().extend(known.as_object().unwrap().clone());
        self.cases.push(case);
    }

    fn receipt(&mut self, name: &str, bytes: Vec<u8>, with: With) {
        let file = format!("{name}.receipt.json");
        self.file(&file, bytes);
        self.judge(name, &file, with);
    }

    fn judge(&mut self, name: &str, file: &str, with: With) {
        let mut case = json!({
            "name": name, "receipt": file, "ledger": with.ledger, "changes": with.changes,
            "keys": with.keys, "allow": with.allow, "expect": with.expect,
        });
        case.as_object_mut().unwrap().extend(with.more);
        self.cases.push(case);
    }

    fn finish(mut self) -> BTreeMap<String, Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(&self.cases).unwrap();
        text.push(b'\n');
        self.file("cases.json", text);
        self.files
    }
}

fn intact(length: Value, count: u64) -> Value {
    json!({"ledger": "intact", "length": length, "count": count})
}

fn broken(code: &str, record: u64) -> Value {
    json!({"ledger": "broken", "code": code, "record": record})
}

fn known_after(after: u64) -> Value {
    json!({"known": {"after": after}})
}

/// A change set with every kind of entry and of node, as Loop writes it.
fn changes() -> Vec<u8> {
    let file = |mode: &str, text: &str| {
        let digest = Digest::of(text.as_bytes());
        json!({"type": "file", "mode": mode, "size": text.len(), "digest": digest})
    };
    let entry = |path: &str, kind: Value, before: Value, after: Value| {
        json!({"path": path, "kind": kind, "before": before, "after": after, "flags": [],
            "stat": null})
    };
    let add = |path, after| entry(path, "add".into(), Value::Null, after);
    bytes_of(&json!({"schema": 1, "entries": [
        add("a%25b%0A", file("0644", "one\n")),
        entry("edited", "edit".into(), file("0644", "two\n"), file("0600", "three\n")),
        entry("gone", "delete".into(), file("0644", "four\n"), Value::Null),
        add("link", json!({"type": "link", "target": "../%FF"})),
        add("new", json!({"type": "dir", "mode": "0755"})),
        add("new/fifo", json!({"type": "special", "what": "fifo"})),
        entry("run.sh", "mode".into(), file("0644", "five\n"), file("0755", "five\n")),
        entry("to", json!({"rename": {"from": "from"}}), file("0644", "six\n"),
            file("0644", "six\n")),
        add("\u{e9}t\u{e9}", file("4755", "seven\n")),
    ]}))
}

/// What [`changes`] leads to, by hand.
fn result() -> Digest {
    let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
    let parts: [(&[u8], &str, &str); 10] = [
        (b"a%b\n", "100644", &digest("one\n")),
        (b"edited", "100644", &digest("three\n")),
        (b"from", "000000", ""),
        (b"gone", "000000", ""),
        (b"link", "120000", "../%FF"),
        (b"new", "040000", ""),
        (b"new/fifo", "000000", ""),
        (b"run.sh", "100755", &digest("five\n")),
        (b"to", "100644", &digest("six\n")),
        ("\u{e9}t\u{e9}".as_bytes(), "100755", &digest("seven\n")),
    ];
    let mut input = b"loop-result-v1\n".to_vec();
    for (path, mode, content) in parts {
        for part in [path, mode.as_bytes(), content.as_bytes()] {
            input.extend_from_slice(&(part.len() as u64).to_be_bytes());
            input.extend_from_slice(part);
        }
    }
    Digest::of(&input)
}

fn authority() -> String {
    Digest::of(b"authority").to_string()
}

fn enforcement() -> Value {
    json!({"backend": "local", "kernel": "6.12.0", "landlock": 6, "seccomp": true})
}

fn entry(second: u64, kind: &'static str, body: Value) -> Entry {
    Entry { kind, time: format!("2026-11-29T22:04:{second:02}.123Z"), body }
}

fn intent(action: Value) -> Value {
    json!({"action": action, "authority": authority(), "decided_by": [], "outcome": "allow"})
}

/// What was re-executed, as the receipt has it.
fn checks() -> Value {
    json!([{"name": "test", "command": "cargo test", "passed": true, "exit": 0,
        "output": Digest::of(b"ok\n"), "preExisting": false,
        "base": {"passed": false, "exit": 101, "output": Digest::of(b"no\n")}}])
}

/// What became of the contract, as the receipt has it.
fn verification() -> Value {
    json!({"contract": Digest::of(b"contract"), "changes": Digest::of(&changes()), "round": 1,
        "criteria": [{"id": "parser", "checks": ["test"], "met": true}],
        "held": ["tests/parser.rs"], "leftOut": [".git/config"], "usedIgnored": [], "flags": []})
}

/// A whole run: nine records that the receipt covers, and two after it.
pub(crate) fn story() -> Vec<Entry> {
    let exec = json!({"action": "exec", "args": ["-c", "printf '\u{e9}\\u001b'"], "cwd": "/w",
        "program": "/usr/bin/sh"});
    let connect = json!({"action": "connect", "host": "example.com", "port": 443});
    let apply = json!({"action": "apply", "change_set": Digest::of(&changes()), "flagged": [],
        "paths": 1, "run": RUN});
    vec![
        entry(0, "genesis", json!({"run": RUN, "schema": 1})),
        entry(
            1,
            "run.start",
            json!({"authority": authority(), "profile": "offline",
            "project": "/w", "subject": "ann"}),
        ),
        entry(2, "enforcement", enforcement()),
        entry(3, "exec.intent", intent(exec)),
        entry(4, "denied", json!({"action": connect, "outcome": "deny", "reason": "no network"})),
        entry(5, "exec.result", json!({"intent": 3, "result": {"exit": 0, "seconds": 0.25}})),
        entry(6, "verification", json!({"checks": checks(), "verification": verification()})),
        entry(7, "changes", json!({"digest": Digest::of(&changes()), "result": result()})),
        entry(8, "run.end", json!({"outcome": "verified"})),
        entry(9, "apply.intent", intent(apply)),
        entry(10, "apply.result", json!({"intent": 9, "result": {"paths": 1}})),
    ]
}

/// Records of the receipt's head.
const COVERED: usize = 9;

fn head(entries: &[Entry], count: usize) -> Value {
    json!({"count": count, "hash": hash_of(&lines(entries)[count - 1])})
}

/// The story with one record saying nothing.
fn silent(at: usize) -> Vec<Entry> {
    let mut entries = story();
    (entries[at].kind, entries[at].body) = ("note", json!({}));
    entries
}

fn with_body(at: usize, body: Value) -> Vec<Entry> {
    let mut entries = story();
    entries[at].body = body;
    entries
}

fn ledgers(set: &mut Set) {
    let none = || json!({});
    let head = |count| json!({"head": head(&story(), count)});
    let good = lines(&story());
    set.ledger("intact", good.concat(), none(), intact(json!("unknown"), 11));
    let file = "intact.ledger";
    set.look("intact-known-head", file, head(11), intact(known_after(0), 11));
    set.look("intact-older-head", file, head(9), intact(known_after(2), 11));
    set.look("intact-known-run", file, json!({"run": RUN}), intact(json!("unknown"), 11));
    set.look("foreign-run", file, json!({"run": OTHER_RUN}), broken("foreign-run", 0));
    let mut back = story();
    back[6].time = "2026-11-28T01:00:00.000Z".to_owned();
    let mut expect = intact(json!("unknown"), 11);
    expect["notes"] = json!([{"code": "clock-set-back", "record": 6}]);
    set.ledger("clock-set-back", lines(&back).concat(), none(), expect);

    not_ledgers(set, &good);
    malformed(set, &good);
    edited(set, &good);
    rearranged(set, &good);
    cut(set, &good);
}

fn not_ledgers(set: &mut Set, good: &[Vec<u8>]) {
    let none = || json!({});
    set.ledger("empty", Vec::new(), none(), broken("empty", 0));
    set.ledger("text", b"not a ledger\n".to_vec(), none(), broken("not-a-ledger", 0));
    set.ledger("text-without-end", b"not a ledger".to_vec(), none(), broken("not-a-ledger", 0));
    set.ledger("json", b"{\"a\":1}\n".to_vec(), none(), broken("not-a-ledger", 0));
    let marked = [b"\xef\xbb\xbf".as_slice(), &good.concat()].concat();
    set.ledger("byte-order-mark", marked, none(), broken("not-a-ledger", 0));
    let headless = [entry(0, "run.start", json!({"authority": authority()}))];
    set.ledger("no-genesis", lines(&headless).concat(), none(), broken("not-a-ledger", 0));
    let other = with_body(0, json!({"run": RUN, "schema": 2}));
    set.ledger("unknown-schema", lines(&other).concat(), none(), broken("unknown-schema", 0));
    let other = with_body(0, json!({"run": RUN, "schema": 1, "more": true}));
    set.ledger("genesis-with-more", lines(&other).concat(), none(), broken("not-a-ledger", 0));
}

fn malformed(set: &mut Set, good: &[Vec<u8>]) {
    let mut put = |name: &str, at: usize, line: Vec<u8>, code: &str| {
        let mut all = good.to_vec();
        all[at] = line;
        set.ledger(name, all.concat(), json!({}), broken(code, at as u64));
    };
    let rehash = |at: usize, from: &str, to: &str| rehashed(&good[at], from, to);
    put("nan", 5, replaced(&good[5], "0.25", "NaN"), "not-canonical");
    put("infinity", 5, replaced(&good[5], "0.25", "1e999"), "not-canonical");
    put("long-number", 5, rehash(5, "0.25", "0.250"), "not-canonical");
    put("inexact-number", 5, rehash(5, "0.25", "9007199254740993"), "not-canonical");
    put("white-space", 5, rehash(5, ":0.25", ": 0.25"), "not-canonical");
    put("carriage-return", 5, replaced(&good[5], "}\n", "}\r\n"), "not-canonical");
    put("key-order", 8, rehash(8, "{\"outcome\"", "{\"z\":1,\"outcome\""), "not-canonical");
    put("escape", 3, rehash(3, "/usr", "\\/usr"), "not-canonical");
    let mut bad = good[3].clone();
    let at = bad.iter().position(|byte| *byte == 0xc3).unwrap();
    bad[at] = 0xff;
    put("invalid-utf-8", 3, bad, "not-canonical");
    let deep = |depth: usize| -> Value {
        let deep = json!({"d": "D"}).to_string().replace("\"D\"", &nested(depth - 1));
        serde_json::from_str(&deep).unwrap()
    };
    let allowed = lines(&with_body(8, deep(64)));
    put("too-deep", 8, rehashed(&allowed[8], "[]", "[[]]"), "not-canonical");
    put("blank-line", 8, b"\n".to_vec(), "not-canonical");
    let twice = "\"outcome\":\"verified\"";
    put("duplicate-key", 8, rehash(8, twice, &format!("{twice},{twice}")), "duplicate-key");
    let apart = "{\"outcome\":1,\"p\":2,\"outcome\":\"verified\"}";
    put("duplicate-key-apart", 8, rehash(8, &format!("{{{twice}}}"), apart), "duplicate-key");
    put("duplicate-seq", 8, rehash(8, "\"seq\":8", "\"seq\":8,\"seq\":8"), "duplicate-key");
    put("more-members", 8, rehash(8, ",\"time\"", ",\"seq2\":1,\"time\""), "not-a-record");
    put("no-time", 8, rehash(8, ",\"time\":\"2026-11-29T22:04:08.123Z\"", ""), "not-a-record");
    put("no-such-day", 8, rehash(8, "2026-11-29", "2026-11-31"), "not-a-record");
    put("kind-in-capitals", 8, rehash(8, "run.end", "Run.End"), "not-a-record");
    put("seq-is-text", 8, rehash(8, "\"seq\":8", "\"seq\":\"7\""), "not-a-record");
    set.ledger(
        "deepest",
        lines(&with_body(8, deep(64))).concat(),
        json!({}),
        intact(json!("unknown"), 11),
    );
}

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

fn edited(set: &mut Set, good: &[Vec<u8>]) {
    let none = || json!({});
    let mut put = |name: &str, at: usize, from: &str, to: &str| {
        let mut all = good.to_vec();
        all[at] = replaced(&all[at], from, to);
        set.ledger(name, all.concat(), none(), broken("edited", at as u64));
    };
    put("edited-body", 4, "example.com", "example.org");
    put("edited-kind", 4, "\"denied\"", "\"allowed\"");
    put("edited-time", 4, "22:04:04", "22:05:04");
    put("edited-seq", 4, "\"seq\":4", "\"seq\":5");
    put("edited-genesis", 0, RUN, OTHER_RUN);
    put("edited-last", 10, "\"paths\":1", "\"paths\":2");
    put("edited-prev", 4, &hash_of(&good[3]), &hash_of(&good[2]));
    put("edited-hash", 4, &hash_of(&good[4]), &hash_of(&good[2]));

    let changed = with_body(4, json!({"action": {"action": "exec"}, "outcome": "deny"}));
    let rewritten = lines(&changed);
    let mut all = good.to_vec();
    all[4].clone_from(&rewritten[4]);
    set.ledger("edited-and-rehashed", all.concat(), none(), broken("unlinked", 5));
    let file = "rewritten.ledger";
    set.ledger("rewritten", rewritten.concat(), none(), intact(json!("unknown"), 11));
    let known = json!({"head": head(&story(), COVERED)});
    set.look("rewritten-known-head", file, known, broken("replaced", 8));
    let known = json!({"head": {"count": 0, "hash": hash_of(&good[0])}});
    set.look("head-of-nothing", "intact.ledger", known, broken("replaced", 0));
}

fn rearranged(set: &mut Set, good: &[Vec<u8>]) {
    let mut put = |name: &str, all: Vec<Vec<u8>>, expect: Value| {
        set.ledger(name, all.concat(), json!({}), expect);
    };
    let mut all = good.to_vec();
    all.swap(4, 5);
    put("swapped", all, broken("moved", 4));
    let mut all = good.to_vec();
    let moved = all.remove(3);
    all.push(moved);
    put("moved-to-end", all, broken("moved", 3));
    let mut all = good.to_vec();
    let moved = all.remove(8);
    all.insert(2, moved);
    put("moved-forward", all, broken("moved", 2));
    let mut all = good.to_vec();
    all.insert(4, good[3].clone());
    put("duplicated", all, broken("duplicated", 4));
    let mut all = good.to_vec();
    all.push(good[0].clone());
    put("genesis-again", all, broken("duplicated", 11));

    let mut other = story();
    other[0].body = json!({"run": OTHER_RUN, "schema": 1});
    let other = lines(&other);
    let mut all = good.to_vec();
    all.insert(5, other[5].clone());
    put("inserted-foreign-record", all, broken("inserted", 5));
    let mut all = good.to_vec();
    all.insert(5, other[0].clone());
    put("inserted-foreign-genesis", all, broken("foreign-run", 5));
    let forged =
        line(&entry(4, "denied", json!({"action": {"action": "exec"}})), 5, &hash_of(&good[4]));
    let mut all = good.to_vec();
    all.insert(5, forged);
    put("inserted-in-chain", all, broken("inserted", 5));
    let mut both = good.to_vec();
    both.extend(other);
    put("two-ledgers", both, broken("foreign-run", 11));
    let mut all = good.to_vec();
    all.remove(5);
    put("removed", all, broken("missing", 5));
    put("removed-first", good[1..].to_vec(), broken("missing", 0));
}

fn cut(set: &mut Set, good: &[Vec<u8>]) {
    let none = || json!({});
    let known = || json!({"head": head(&story(), COVERED)});
    let short = good[..6].concat();
    set.ledger("cut", short, none(), intact(json!("unknown"), 6));
    set.look("cut-known-head", "cut.ledger", known(), broken("truncated", 6));
    let whole = good.concat();
    set.ledger("torn", whole[..whole.len() - 40].to_vec(), none(), broken("torn", 10));
    set.ledger("torn-at-end", whole[..whole.len() - 1].to_vec(), none(), broken("torn", 10));
    set.ledger("torn-genesis", good[0][..60].to_vec(), none(), broken("torn", 0));
    let mut shorter = story();
    shorter[3].body = intent(json!({"action": "exec", "program": "/bin/true"}));
    let shorter = lines(&shorter)[..4].concat();
    set.ledger("shorter", shorter, none(), intact(json!("unknown"), 4));
    set.look("shorter-known-head", "shorter.ledger", known(), broken("truncated", 4));
}

/// With what a receipt is judged, and what must come out. By default everything is given.
struct With {
    ledger: Option<&'static str>,
    changes: Option<&'static str>,
    keys: Vec<&'static str>,
    allow: Vec<&'static str>,
    expect: Value,
    /// What only some cases are about.
    more: Map<String, Value>,
}

const ASPECTS: [&str; 7] =
    ["form", "signature", "chain", "subjects", "policy", "completeness", "outcome"];

impl With {
    /// Everything holds.
    fn all() -> Self {
        let mut expect = json!({"accepted": true});
        for aspect in ASPECTS {
            expect[aspect] = "holds".into();
        }
        Self {
            ledger: Some("intact.ledger"),
            changes: Some("changes.json"),
            keys: vec!["trusted.pub"],
            allow: vec![],
            expect,
            more: Map::new(),
        }
    }

    /// Everything holds but one aspect.
    fn but(aspect: &str, code: &str) -> Self {
        Self::all().refused().and(aspect, code)
    }

    fn and(mut self, aspect: &str, code: &str) -> Self {
        assert!(ASPECTS.contains(&aspect) || self.more.contains_key(aspect));
        self.expect[aspect] = code.into();
        self
    }

    /// The bytes are no receipt.
    fn unreadable(code: &str) -> Self {
        let all = |with: Self, aspect: &&str| with.and(aspect, "not-checked");
        ASPECTS.iter().fold(Self::all().refused(), all).and("form", code)
    }

    fn refused(mut self) -> Self {
        self.expect["accepted"] = false.into();
        self
    }

    fn accepted(mut self) -> Self {
        self.expect["accepted"] = true.into();
        self
    }

    fn keys(mut self, keys: &[&'static str]) -> Self {
        self.keys = keys.to_vec();
        self
    }

    fn allow(mut self, allow: &[&'static str]) -> Self {
        self.allow = allow.to_vec();
        self
    }

    fn ledger(mut self, ledger: Option<&'static str>) -> Self {
        self.ledger = ledger;
        self
    }

    fn changes(mut self, changes: Option<&'static str>) -> Self {
        self.changes = changes;
        self
    }

    fn more(mut self, member: &str, value: Value) -> Self {
        self.more.insert(member.to_owned(), value);
        self
    }

    /// Trusted with these limits, instead of without any.
    fn trust(self, limits: Value) -> Self {
        let mut one = json!({"name": "ci", "key": "trusted.pub"});
        one.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
        self.keys(&[]).more("trust", json!([one]))
    }

    /// Together with a file of signed heads.
    fn heads(self, aspect: &str, file: &str, word: &str) -> Self {
        self.more(aspect, file.into()).and(aspect, word)
    }

    fn without_ledger() -> Self {
        Self::all()
            .ledger(None)
            .refused()
            .and("chain", "not-checked")
            .and("policy", "not-checked")
            .and("completeness", "not-checked")
    }

    /// The ledger does not hold, for this reason.
    fn without_chain(code: &str) -> Self {
        Self::without_ledger().ledger(Some("intact.ledger")).and("chain", code)
    }
}

pub(crate) fn statement() -> Value {
    let sha256 = |digest: Digest| json!({"sha256": digest.hex()});
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "predicateType": "https://loop.dev/receipt/v1",
        "subject": [
            {"name": "changes", "digest": sha256(Digest::of(&changes()))},
            {"name": "result", "digest": sha256(result())},
        ],
        "predicate": {
            "run": RUN,
            "subject": "ann",
            "project": "/w",
            "started": "2026-11-29T22:04:01.000Z",
            "ended": "2026-11-29T22:04:07.000Z",
            "profile": "offline",
            "authority": authority(),
            "base": {"commit": null, "dirty": null},
            "enforcement": enforcement(),
            "leases": [],
            "approvals": [],
            "egress": [],
            "denials": {"connect": 1},
            "budget": {"wallMs": 6000, "cpuMs": 40, "memory": null, "output": null,
                "steps": null, "tokens": null},
            "checks": checks(),
            "verification": verification(),
            "models": [{"provider": "scripted", "name": "play"}],
            "ledger": head(&story(), COVERED),
            "omissions": [],
            "exit": 0,
            "outcome": "verified",
        },
    })
}

fn sealed(statement: &Value) -> Vec<u8> {
    with_end(bytes_of(&envelope(&bytes_of(statement), &key(1))))
}

/// The statement with one value of its predicate changed.
fn stating(path: &str, value: Value) -> Value {
    let mut statement = statement();
    *statement.pointer_mut(path).unwrap() = value;
    statement
}

fn receipts(set: &mut Set) {
    set.receipt("good", sealed(&statement()), With::all());
    let file = "good.receipt.json";
    set.judge("good-of-two-keys", file, With::all().keys(&["other.pub", "trusted.pub"]));
    set.judge("good-without-ledger", file, With::without_ledger());
    set.judge(
        "good-allow-no-ledger",
        file,
        With::without_ledger().accepted().allow(&["no-ledger"]),
    );
    let without = || With::all().changes(None).refused().and("subjects", "not-checked");
    set.judge("good-without-changes", file, without());
    set.judge("good-allow-no-changes", file, without().accepted().allow(&["no-changes"]));
    let without = || With::all().keys(&[]).refused().and("signature", "not-checked");
    set.judge("good-without-key", file, without());
    set.judge("good-allow-unsigned", file, without().accepted().allow(&["unsigned"]));
    set.judge("other-key", file, With::but("signature", "unknown-key").keys(&["other.pub"]));

    signatures(set);
    forms(set);
    subjects(set);
    against_the_ledger(set);
    approvals(set);
    outcomes(set);
    verified(set);
    verification_told(set);
    following(set);
    learning(set);
    limits(set);
    heads(set);
    set.judge("other-version", "predicate-type.receipt.json", With::unreadable("unknown-schema"));
    let now = |time: &str| With::all().more("now", time.into());
    let file = "good.receipt.json";
    set.judge("good-as-it-ends", file, now("2026-11-29T22:04:07.000Z"));
    set.judge("good-within-the-allowance", file, now("2026-11-29T21:59:07.000Z"));
    let early = now("2026-11-29T21:59:06.999Z").refused().and("form", "from-the-future");
    set.judge("from-the-future", file, early);
}

/// A right signature of a key that may not sign for everything.
fn limits(set: &mut Set) {
    let file = "good.receipt.json";
    let project = statement()["predicate"]["project"].as_str().unwrap().to_owned();
    let name = project.rsplit('/').next().unwrap();
    let all = json!({
        "projects": ["/elsewhere", format!("**/{name}")], "outcomes": ["verified"],
        "until": "2026-11-29T22:04:07.000Z",
    });
    set.judge("limits-that-fit", file, With::all().trust(all));
    for (case, limit, code) in [
        ("key-of-other-project", json!({"projects": ["/elsewhere"]}), "key-for-other-project"),
        ("key-of-no-project", json!({"projects": []}), "key-for-other-project"),
        ("key-of-other-outcome", json!({"outcomes": ["failed"]}), "key-not-for-outcome"),
        ("key-expired", json!({"until": "2026-11-29T22:04:06.999Z"}), "key-expired"),
        (
            "key-revoked",
            json!({"revoked": {"on": "2026-12-01T00:00:00.000Z", "why": "it was stolen"}}),
            "key-revoked",
        ),
    ] {
        set.judge(case, file, With::but("signature", code).trust(limit.clone()));
        // Another key vouches.
        let both = With::all().trust(limit).keys(&["other.pub"]);
        set.judge(&format!("{case}-and-another"), "signed-by-both.receipt.json", both);
    }
    let limit = json!({"outcomes": []});
    let edited = With::but("signature", "bad-signature").trust(limit);
    set.judge("limits-and-bad-signature", "fact-edited.receipt.json", edited);
}

/// Heads of [`story`]'s ledger, up to these counts.
fn heads_up_to(counts: &[usize], seed: u8) -> Vec<u8> {
    let line = |count: &usize| head_line(RUN, &head(&story(), *count), &key(seed));
    counts.iter().flat_map(line).collect()
}

fn heads(set: &mut Set) {
    let good = heads_up_to(&[2, 9, 11], 1);
    set.file("good.heads", good.clone());
    set.file("other-key.heads", heads_up_to(&[11], 2));
    set.file("both.heads", [heads_up_to(&[9], 2), heads_up_to(&[11], 1)].concat());
    let replaced = json!({"count": 9, "hash": Digest::of(b"another")});
    set.file("replaced.heads", head_line(RUN, &replaced, &key(1)));
    let longer = json!({"count": 12, "hash": Digest::of(b"another")});
    set.file("longer.heads", head_line(RUN, &longer, &key(1)));
    set.file("other-run.heads", head_line(OTHER_RUN, &longer, &key(1)));
    set.file("none.heads", Vec::new());
    set.file("torn.heads", [good.clone(), good[..40].to_vec()].concat());
    set.file("edited.heads", crate::forge::replaced(&good, "\"count\":9", "\"count\":8"));
    set.file("text.heads", [good.clone(), b"text\n".to_vec()].concat());
    set.file("more.heads", crate::forge::replaced(&good, "{\"count\"", "{\"also\":1,\"count\""));

    let file = "good.receipt.json";
    for aspect in ["heads", "witness"] {
        let all = |name: &str| With::all().heads(aspect, &format!("{name}.heads"), "holds");
        for name in ["good", "both", "torn"] {
            set.judge(&format!("{aspect}-{name}"), file, all(name));
        }
        let not = |name: &str, code: &str| all(name).refused().and(aspect, code);
        for (name, code) in [
            ("other-key", "not-vouched-for"),
            ("other-run", "not-vouched-for"),
            ("none", "not-vouched-for"),
            ("edited", "head-signature"),
            ("text", "head-malformed"),
            ("more", "head-malformed"),
        ] {
            set.judge(&format!("{aspect}-{name}"), file, not(name, code));
        }
        for (name, code) in [("replaced", "replaced"), ("longer", "truncated")] {
            let with = With::without_chain(code);
            let with = with.heads(aspect, &format!("{name}.heads"), "holds");
            set.judge(&format!("{aspect}-{name}"), file, with);
        }
        let without_key = || {
            let with = With::all().heads(aspect, "good.heads", "not-checked").keys(&[]);
            with.refused().and("signature", "not-checked")
        };
        set.judge(&format!("{aspect}-without-key"), file, without_key());
        set.judge(
            &format!("{aspect}-allow-unsigned"),
            file,
            without_key().accepted().allow(&["unsigned"]),
        );
        for (limit, code) in [
            (json!({"until": "2026-11-29T22:04:08.000Z"}), "key-expired"),
            (
                json!({"revoked": {"on": "2026-12-01T00:00:00.000Z", "why": "it was stolen"}}),
                "key-revoked",
            ),
        ] {
            let with = not("good", code).trust(limit.clone()).keys(&["other.pub"]);
            set.judge(&format!("{aspect}-{code}"), "signed-by-both.receipt.json", with);
        }
        let witness_only = all("other-key").trust(json!({"outcomes": []}));
        let witness_only = With { keys: vec!["trusted.pub"], ..witness_only };
        let mut other = witness_only.more["trust"].clone();
        other[0]["key"] = "other.pub".into();
        set.judge(&format!("{aspect}-only"), file, witness_only.more("trust", other));
    }
    let known = |aspect: &str, file: &str| json!({aspect: file, "keys": ["trusted.pub"]});
    let word = |mut expect: Value, word: &str| {
        expect["heads"] = word.into();
        expect
    };
    let look = |set: &mut Set, name: &str, expect| {
        let known = known("heads", &format!("{name}.heads"));
        set.look(&format!("ledger-and-heads-{name}"), "intact.ledger", known, expect);
    };
    look(set, "good", word(intact(known_after(0), 11), "holds"));
    look(set, "none", word(intact(json!("unknown"), 11), "not-vouched-for"));
    look(set, "replaced", word(broken("replaced", 8), "holds"));
    look(set, "longer", word(broken("truncated", 11), "holds"));
}

fn signatures(set: &mut Set) {
    let good = envelope(&bytes_of(&statement()), &key(1));
    let write = |envelope: &Value| with_end(bytes_of(envelope));
    let changed = |path: &str, value: Value| {
        let mut envelope = good.clone();
        *envelope.pointer_mut(path).unwrap() = value;
        write(&envelope)
    };
    let stripped = changed("/signatures", json!([]));
    set.receipt("stripped", stripped, With::but("signature", "unsigned"));
    let file = "stripped.receipt.json";
    set.judge(
        "stripped-allow-unsigned-with-key",
        file,
        With::but("signature", "unsigned").allow(&["unsigned"]),
    );
    set.judge(
        "stripped-allow-unsigned",
        file,
        With::all().keys(&[]).allow(&["unsigned"]).and("signature", "not-checked"),
    );

    let swapped = changed("/signatures/0/keyid", key_id(&key(2)).into());
    set.receipt("key-id-swapped", swapped, With::but("signature", "unknown-key"));
    set.judge(
        "key-id-swapped-both-trusted",
        "key-id-swapped.receipt.json",
        With::but("signature", "bad-signature").keys(&["trusted.pub", "other.pub"]),
    );

    let other = envelope(&bytes_of(&statement()), &key(2));
    set.receipt("signed-by-other", write(&other), With::but("signature", "unknown-key"));
    let mut claimed = other.clone();
    claimed["signatures"][0]["keyid"] = key_id(&key(1)).into();
    set.receipt(
        "signed-by-other-as-trusted",
        write(&claimed),
        With::but("signature", "bad-signature"),
    );
    let mut both = good.clone();
    both["signatures"].as_array_mut().unwrap().push(other["signatures"][0].clone());
    set.receipt("signed-by-both", write(&both), With::all());
    set.judge(
        "signed-by-both-of-one-key",
        "signed-by-both.receipt.json",
        With::all().keys(&["other.pub"]),
    );
    let mut one_wrong = good.clone();
    one_wrong["signatures"].as_array_mut().unwrap().push(claimed["signatures"][0].clone());
    set.receipt("one-signature-wrong", write(&one_wrong), With::but("signature", "bad-signature"));

    let edited = stating("/predicate/subject", json!("eve"));
    let edited = changed("/payload", STANDARD.encode(bytes_of(&edited)).into());
    set.receipt("fact-edited", edited, With::but("signature", "bad-signature"));
    let long = malleated(signature(&bytes_of(&statement()), &key(1)));
    let long = changed("/signatures/0/sig", STANDARD.encode(long).into());
    set.receipt("signature-malleated", long, With::but("signature", "bad-signature"));
    let text = good["signatures"][0]["sig"].as_str().unwrap();
    assert!(
        text.ends_with("g==")
            || text.ends_with("w==")
            || text.ends_with("A==")
            || text.ends_with("Q==")
    );
    let loose = text.replace("==", "").chars().collect::<Vec<_>>();
    let last = char::from(u8::try_from(loose[loose.len() - 1]).unwrap() + 1);
    let loose: String = loose[..loose.len() - 1].iter().collect();
    let loose = changed("/signatures/0/sig", format!("{loose}{last}==").into());
    set.receipt("signature-loose-base64", loose, With::but("signature", "bad-signature"));
    let short = changed("/signatures/0/sig", "AAAA".into());
    set.receipt("signature-short", short, With::but("signature", "bad-signature"));
}

fn forms(set: &mut Set) {
    let good = envelope(&bytes_of(&statement()), &key(1));
    let bytes = with_end(bytes_of(&good));
    let mut put = |name: &str, bytes: Vec<u8>, code: &str| {
        set.receipt(name, bytes, With::unreadable(code));
    };
    put("receipt-empty", Vec::new(), "not-canonical");
    put("receipt-text", b"a receipt\n".to_vec(), "not-canonical");
    put("receipt-json", b"[]\n".to_vec(), "not-an-envelope");
    put("envelope-indented", serde_json::to_vec_pretty(&good).unwrap(), "not-canonical");
    put("envelope-two-ends", [bytes.as_slice(), b"\n"].concat(), "not-canonical");
    let kind = "\"payloadType\":\"application/vnd.in-toto+json\"";
    let twice = replaced(&bytes, kind, &format!("{kind},{kind}"));
    put("envelope-duplicate-key", twice, "duplicate-key");
    let mut more = good.clone();
    more["more"] = 1.into();
    put("envelope-more-members", with_end(bytes_of(&more)), "not-an-envelope");
    let mut other = good.clone();
    other["payloadType"] = "text/plain".into();
    put("payload-type", with_end(bytes_of(&other)), "payload-type");
    let mut other = good.clone();
    other["payload"] = "*".into();
    put("payload-not-base64", with_end(bytes_of(&other)), "payload-encoding");

    let mut sign = |name: &str, payload: Vec<u8>, code: &str| {
        put(name, with_end(bytes_of(&envelope(&payload, &key(1)))), code);
    };
    let payload = bytes_of(&statement());
    sign("statement-nan", replaced(&payload, "\"exit\":0", "\"exit\":NaN"), "not-canonical");
    let twice = "\"outcome\":\"verified\"";
    let doubled = replaced(&payload, twice, &format!("\"outcome\":\"failed\",{twice}"));
    sign("statement-duplicate-key", doubled, "duplicate-key");
    sign("statement-json", b"{}".to_vec(), "not-a-statement");
    let type_ = |path, text: &str| bytes_of(&stating(path, text.into()));
    sign("statement-type", type_("/_type", "https://in-toto.io/Statement/v2"), "unknown-schema");
    let next = type_("/predicateType", "https://loop.dev/receipt/v2");
    sign("predicate-type", next, "unknown-schema");
    sign("outcome-unknown-word", type_("/predicate/outcome", "fine"), "not-a-statement");
    sign("run-id-malformed", type_("/predicate/run", "../../etc"), "not-a-statement");
    let mut more = statement();
    more["predicate"]["more"] = 1.into();
    sign("predicate-more-members", bytes_of(&more), "not-a-statement");
    let mut less = statement();
    less["predicate"].as_object_mut().unwrap().remove("denials");
    sign("predicate-member-missing", bytes_of(&less), "not-a-statement");
}

fn subjects(set: &mut Set) {
    let with = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut statement = statement();
        change(statement["subject"].as_array_mut().unwrap());
        sealed(&statement)
    };
    let extra = with(&|subjects| {
        let mut extra = subjects[0].clone();
        extra["name"] = "more".into();
        subjects.push(extra);
    });
    set.receipt("subject-extra", extra, With::but("subjects", "subject-extra"));
    let twice = with(&|subjects| subjects.push(subjects[0].clone()));
    set.receipt("subject-twice", twice, With::but("subjects", "subject-extra"));
    let missing = with(&|subjects| subjects.truncate(1));
    set.receipt("subject-missing", missing, With::but("subjects", "subject-missing"));
    let none = with(&Vec::clear);
    set.receipt("subjects-none", none, With::but("subjects", "subject-missing"));
    set.file("other-changes.json", b"{}\n".to_vec());
    let other = || Some("other-changes.json");
    set.judge(
        "changes-differ",
        "good.receipt.json",
        With::but("subjects", "changes-differ").changes(other()),
    );
    let digest = |digest: Digest| json!({"sha256": digest.hex()});
    let nothing = sealed(&stating("/subject/0/digest", digest(Digest::of(b"{}\n"))));
    // The checks ran on what the ledger knows, and not on this.
    let others = |code| With::but("subjects", code).and("outcome", "others-checked");
    let unreadable = others("changes-unreadable").changes(other());
    set.receipt("changes-unreadable", nothing, unreadable);
    set.judge(
        "changes-not-of-the-ledger",
        "changes-unreadable.receipt.json",
        others("fact-differs").changes(None),
    );
    let lie = sealed(&stating("/subject/1/digest", digest(Digest::of(b"lie"))));
    set.receipt("result-differs", lie, With::but("subjects", "result-differs"));
    set.judge(
        "result-not-of-the-ledger",
        "result-differs.receipt.json",
        With::but("subjects", "fact-differs").changes(None),
    );
}

/// Receipts that the trusted key signed, and that the ledger contradicts.
fn against_the_ledger(set: &mut Set) {
    let differs = |aspect| With::but(aspect, "fact-differs");
    let other = Digest::of(b"other").to_string();
    let mut put = |name: &str, path: &str, value: Value, with: With| {
        set.receipt(name, sealed(&stating(path, value)), with);
    };
    put("authority-differs", "/predicate/authority", other.into(), differs("policy"));
    put("enforcement-differs", "/predicate/enforcement/seccomp", false.into(), differs("policy"));
    put(
        "denials-differ",
        "/predicate/denials",
        json!({}),
        With::but("completeness", "denials-differ"),
    );
    put("other-run", "/predicate/run", OTHER_RUN.into(), With::without_chain("foreign-run"));
    put(
        "head-differs",
        "/predicate/ledger/hash",
        Digest::of(b"other").to_string().into(),
        With::without_chain("replaced"),
    );
    put("head-ahead", "/predicate/ledger/count", 12.into(), With::without_chain("truncated"));
    put(
        "omission",
        "/predicate/omissions",
        json!(["output was cut"]),
        With::but("completeness", "omission"),
    );
    let file = "good.receipt.json";
    set.judge(
        "ledger-edited",
        file,
        With::without_chain("edited").ledger(Some("edited-body.ledger")),
    );
    set.judge("ledger-cut", file, With::without_chain("truncated").ledger(Some("cut.ledger")));
    set.judge(
        "ledger-rewritten",
        file,
        With::without_chain("replaced").ledger(Some("rewritten.ledger")),
    );
    set.judge("ledger-empty", file, With::without_chain("empty").ledger(Some("empty.ledger")));

    let mut tell = |name: &'static str, entries: Vec<Entry>, count: usize, with: With| {
        let ledger: &'static str = format!("{name}.ledger").leak();
        set.file(ledger, lines(&entries).concat());
        let statement = stating("/predicate/ledger", head(&entries, count));
        set.receipt(name, sealed(&statement), with.ledger(Some(ledger)));
    };
    let no = |aspect| With::but(aspect, "record-missing");
    tell("no-start", silent(1), COVERED, no("policy"));
    tell("no-enforcement", silent(2), COVERED, no("policy"));
    tell("no-changes", silent(7), COVERED, no("subjects"));
    tell("no-end", silent(8), COVERED, no("completeness"));
    tell("no-result", silent(5), COVERED, With::but("completeness", "outcome-unknown"));
    tell("no-intent", silent(3), COVERED, With::but("completeness", "stray-result"));
    let mut twice = story();
    twice.insert(6, twice[5].clone());
    tell("result-twice", twice, 10, With::but("completeness", "stray-result"));
    let mut asked = story();
    asked[3].body["outcome"] = "ask".into();
    tell("intent-not-allowed", asked, COVERED, With::but("policy", "not-allowed"));
    let mut other = story();
    other[3].body["authority"] = Digest::of(b"other").to_string().into();
    tell("intent-of-other-authority", other, COVERED, differs("policy"));
    let unsaid = with_body(8, json!({}));
    let unreadable = ["policy", "completeness", "subjects", "outcome"];
    let unreadable = unreadable
        .iter()
        .fold(With::all().refused(), |with, aspect| with.and(aspect, "unreadable"));
    tell("end-says-nothing", unsaid, COVERED, unreadable);
}

/// A run in which a person answered an ask at record 3, and that answer was used `uses` times.
fn asked(answer: &str, uses: usize) -> Vec<Entry> {
    let action = json!({"action": "exec", "args": ["publish"], "cwd": "/w", "program": "/bin/x"});
    let answered = json!({"action_digest": Digest::of(b"action"), "answer": answer, "ask": "k7m2",
        "authority": authority(), "by": {"user": "ann", "via": "terminal"}});
    let mut intent = intent(action);
    (intent["outcome"], intent["approval"]) = ("ask".into(), 3.into());
    intent["action_digest"] = Digest::of(b"action").to_string().into();
    let mut entries = story();
    let rest = entries.split_off(6);
    let denied = entries.remove(4);
    entries.truncate(3);
    entries.push(entry(3, "approval.answered", answered));
    for number in 0..uses {
        let seq = entries.len();
        entries.push(entry(4 + number as u64, "exec.intent", intent.clone()));
        entries.push(entry(4 + number as u64, "exec.result", json!({"intent": seq})));
    }
    entries.push(Entry { time: "2026-11-29T22:04:06.123Z".to_owned(), ..denied });
    entries.extend(rest.into_iter().take(3));
    entries
}

/// Actions that a person allowed, or didn't.
fn approvals(set: &mut Set) {
    let mut tell = |name: &'static str, entries: Vec<Entry>, scope: Option<&str>, with: With| {
        let ledger: &'static str = format!("{name}.ledger").leak();
        set.file(ledger, lines(&entries).concat());
        let mut statement = stating("/predicate/ledger", head(&entries, entries.len()));
        let listed = scope.map(|scope| {
            json!({"record": 3, "action": Digest::of(b"action"), "scope": scope,
                "by": "ann (terminal)"})
        });
        statement["predicate"]["approvals"] = listed.into_iter().collect();
        set.receipt(name, sealed(&statement), with.ledger(Some(ledger)));
    };
    let not_allowed = || With::but("policy", "not-allowed");
    tell("approved-once", asked("once", 1), Some("once"), With::all());
    tell("approved-once-used-twice", asked("once", 2), Some("once"), not_allowed());
    tell("approved-for-the-run", asked("run", 2), Some("run"), With::all());
    tell("approved-and-not-used", asked("once", 0), Some("once"), With::all());
    tell("denied-and-done", asked("deny", 1), None, not_allowed());
    let differ = With::but("completeness", "approvals-differ");
    tell("approvals-not-listed", asked("once", 1), None, differ);
    let differ = With::but("completeness", "approvals-differ");
    tell("approvals-of-another-scope", asked("once", 1), Some("run"), differ);
    let mut other = asked("once", 1);
    other[4].body["action_digest"] = Digest::of(b"other").to_string().into();
    tell("approved-something-else", other, Some("once"), not_allowed());
    let mut later = asked("run", 1);
    later[4].body["approval"] = 4.into();
    tell("approved-by-another-record", later, Some("run"), not_allowed());
    let mut elsewhere = asked("once", 1);
    elsewhere[3].body["authority"] = Digest::of(b"other").to_string().into();
    let differs = With::but("policy", "fact-differs");
    tell("approved-under-another-authority", elsewhere, Some("once"), differs);
    let mut unsaid = asked("once", 1);
    unsaid[3].body = json!({"answer": "once"});
    let unreadable = ["policy", "completeness", "subjects", "outcome"];
    let unreadable = unreadable
        .iter()
        .fold(With::all().refused(), |with, aspect| with.and(aspect, "unreadable"));
    tell("approval-says-nothing", unsaid, Some("once"), unreadable);
}

fn outcomes(set: &mut Set) {
    // A run without a contract: nothing was checked.
    let end = |outcome: &str| {
        let mut entries = silent(6);
        entries[8].body = json!({"outcome": outcome});
        entries
    };
    let unchecked = |outcome: &str| {
        let mut statement = stating("/predicate/outcome", outcome.into());
        statement["predicate"]["checks"] = json!([]);
        statement["predicate"]["ledger"] = head(&end(outcome), COVERED);
        statement["predicate"].as_object_mut().unwrap().remove("verification");
        statement
    };
    let mut tell = |outcome: &'static str, with: With| {
        let name: &'static str = format!("outcome-{outcome}").leak();
        let ledger: &'static str = format!("{name}.ledger").leak();
        set.file(ledger, lines(&end(outcome)).concat());
        set.receipt(name, sealed(&unchecked(outcome)), with.ledger(Some(ledger)));
    };
    tell("unverified", With::but("outcome", "outcome"));
    tell("failed", With::but("outcome", "outcome").allow(&["unverified"]));
    tell("stopped", With::but("outcome", "outcome").allow(&["unverified"]));
    set.judge(
        "outcome-unverified-allowed",
        "outcome-unverified.receipt.json",
        With::but("outcome", "outcome")
            .accepted()
            .allow(&["unverified"])
            .ledger(Some("outcome-unverified.ledger")),
    );
    set.judge(
        "outcome-not-of-the-ledger",
        "good.receipt.json",
        With::without_chain("replaced").ledger(Some("outcome-unverified.ledger")),
    );
    let mut claimed = unchecked("unverified");
    claimed["predicate"]["outcome"] = "verified".into();
    set.receipt(
        "outcome-claimed",
        sealed(&claimed),
        With::but("outcome", "fact-differs").ledger(Some("outcome-unverified.ledger")),
    );
    set.file("verified-without-checks.ledger", lines(&end("verified")).concat());
    set.receipt(
        "verified-without-checks",
        sealed(&unchecked("verified")),
        With::but("outcome", "no-evidence").ledger(Some("verified-without-checks.ledger")),
    );
}

/// Receipts whose ledger says the same of the checks as they do, whether it amounts to a verified
/// outcome or not.
fn verified(set: &mut Set) {
    let mut tell = |name: &'static str, change: &dyn Fn(&mut Value), with: With| {
        let mut body = json!({"checks": checks(), "verification": verification()});
        change(&mut body);
        let ledger: &'static str = format!("{name}.ledger").leak();
        let mut entries = story();
        entries[6].body.clone_from(&body);
        set.file(ledger, lines(&entries).concat());
        let mut statement = stating("/predicate/ledger", head(&entries, COVERED));
        for member in ["checks", "verification"] {
            statement["predicate"][member] = body[member].take();
        }
        set.receipt(name, sealed(&statement), with.ledger(Some(ledger)));
    };
    let set_to = |path: &'static str, value: Value| {
        move |body: &mut Value| *body.pointer_mut(path).unwrap() = value.clone()
    };
    let no = |code| With::but("outcome", code);
    tell(
        "verified-with-failed-check",
        &set_to("/checks/0/passed", false.into()),
        no("check-failed"),
    );
    let beside = |claimed: bool, base: Value| {
        move |body: &mut Value| {
            let lint = json!({"name": "lint", "command": "make lint", "passed": false, "exit": 2,
                "output": Digest::of(b""), "preExisting": claimed, "base": base});
            body["checks"].as_array_mut().unwrap().push(lint);
        }
    };
    let on_base = |passed: bool| json!({"passed": passed, "exit": 2, "output": Digest::of(b"")});
    tell("verified-beside-an-old-failure", &beside(true, on_base(false)), With::all());
    let claims: [(&'static str, bool, Value); 3] = [
        ("verified-beside-a-new-failure", false, on_base(false)),
        ("verified-beside-a-failure-called-old", true, on_base(true)),
        ("verified-beside-a-failure-without-base", true, Value::Null),
    ];
    for (name, claimed, base) in claims {
        tell(name, &beside(claimed, base), no("check-failed"));
    }
    let criterion = "/verification/criteria/0";
    let unmet = json!({"id": "parser", "checks": ["test"], "met": false});
    tell("verified-with-unmet-criterion", &set_to(criterion, unmet), no("criterion-unmet"));
    let bare = json!({"id": "parser", "checks": [], "met": true});
    tell("verified-with-bare-criterion", &set_to(criterion, bare), no("criterion-unmet"));
    let other = json!({"id": "parser", "checks": ["lint"], "met": true});
    tell("verified-by-unknown-check", &set_to(criterion, other), no("criterion-unmet"));
    let none = set_to("/verification/criteria", json!([]));
    tell("verified-without-criteria", &none, no("no-evidence"));
    let others = set_to("/verification/changes", Digest::of(b"other").to_string().into());
    tell("verified-others", &others, no("others-checked"));
    let flag = json!([{"path": "Makefile", "line": 3, "why": "changes how checks run"}]);
    tell("verified-with-flag", &set_to("/verification/flags", flag), no("flagged"));
    let review = |veto: bool| {
        move |body: &mut Value| {
            body["verification"]["review"] =
                json!({"provider": "scripted", "name": "play", "veto": veto, "reason": "so"});
        }
    };
    tell("verified-with-veto", &review(true), no("vetoed"));
    tell("verified-with-review", &review(false), With::all());
    let on_base = set_to("/checks/0/base", Value::Null);
    tell("verified-without-base", &on_base, With::all());
}

/// Receipts that say something else of the checks than their ledger.
fn verification_told(set: &mut Set) {
    let mut put = |name: &str, path: &str, value: Value| {
        set.receipt(name, sealed(&stating(path, value)), With::but("outcome", "fact-differs"));
    };
    put("checks-differ", "/predicate/checks/0/exit", 1.into());
    put("checks-left-out", "/predicate/checks", json!([]));
    put("held-left-out", "/predicate/verification/held", json!([]));
    put("round-differs", "/predicate/verification/round", 2.into());
    let mut hidden = statement();
    hidden["predicate"].as_object_mut().unwrap().remove("verification");
    set.receipt("verification-hidden", sealed(&hidden), With::but("outcome", "fact-differs"));
    let ledger = "verification-not-recorded.ledger";
    set.file(ledger, lines(&silent(6)).concat());
    let made_up = sealed(&stating("/predicate/ledger", head(&silent(6), COVERED)));
    let with = With::but("outcome", "record-missing").ledger(Some(ledger));
    set.receipt("verification-not-recorded", made_up, with);
    let mut more = statement();
    more["predicate"]["verification"]["more"] = 1.into();
    let more = sealed(&more);
    set.receipt("verification-more-members", more, With::unreadable("not-a-statement"));
    let mut less = statement();
    less["predicate"]["checks"][0].as_object_mut().unwrap().remove("command");
    let less = sealed(&less);
    set.receipt("check-member-missing", less, With::unreadable("not-a-statement"));
}

/// Runs that rest on another.
fn following(set: &mut Set) {
    let receipt = Digest::of(b"receipt").to_string();
    let follows =
        |relation: &str| json!({"relation": relation, "run": OTHER_RUN, "receipt": receipt});
    let mut tell = |name: &'static str, recorded: Option<&str>, stated: Value, with: With| {
        let mut entries = story();
        if let Some(member) = recorded {
            entries[1].body[member] = json!({"run": OTHER_RUN, "receipt": receipt});
        }
        let ledger: &'static str = format!("{name}.ledger").leak();
        set.file(ledger, lines(&entries).concat());
        let mut statement = stating("/predicate/ledger", head(&entries, COVERED));
        if !stated.is_null() {
            statement["predicate"]["follows"] = stated;
        }
        set.receipt(name, sealed(&statement), with.ledger(Some(ledger)));
    };
    let differs = || With::but("completeness", "fact-differs");
    tell("continues", Some("continues"), follows("continues"), With::all());
    tell("verifies", Some("verifies"), follows("verifies"), With::all());
    tell("verifies-what-it-continues", Some("continues"), follows("verifies"), differs());
    tell("follows-unsaid", Some("continues"), Value::Null, differs());
    tell("follows-nobody", None, follows("continues"), differs());
}

/// The story of a learning run, which let its command through.
fn learning_story() -> Vec<Entry> {
    let mut entries = story();
    entries[1].body["learning"] = true.into();
    let exec = entries[3].body["action"].clone();
    let digest = Digest::of(&bytes_of(&exec)).to_string();
    let learned = json!({"action": exec, "action_digest": digest, "authority": authority(),
        "outcome": "ask"});
    // In the place of the denial, which the receipt then does not count.
    entries.remove(4);
    entries.insert(3, entry(3, "learned", learned.clone()));
    entries[4].body = learned;
    entries[4].body["learned"] = 3.into();
    entries[5].body["intent"] = 4.into();
    entries[10].body["intent"] = 9.into();
    entries
}

fn learning(set: &mut Set) {
    let mut tell = |name: &'static str, entries: Vec<Entry>, learned: Value, with: With| {
        let ledger: &'static str = format!("{name}.ledger").leak();
        set.file(ledger, lines(&entries).concat());
        let mut statement = stating("/predicate/ledger", head(&entries, COVERED));
        statement["predicate"]["denials"] = json!({});
        if !learned.is_null() {
            statement["predicate"]["learned"] = learned;
        }
        set.receipt(name, sealed(&statement), with.ledger(Some(ledger)));
    };
    let one = || json!({"exec": 1});
    let policy = || With::but("policy", "learning");
    tell("learning", learning_story(), one(), policy());
    let hidden = With::but("policy", "fact-differs");
    tell("learning-hidden", learning_story(), Value::Null, hidden);
    let miscounted = || policy().and("completeness", "learned-differ");
    tell("learning-miscounted", learning_story(), json!({}), miscounted());
    tell("learning-of-another-kind", learning_story(), json!({"open": 1}), miscounted());
    let mut enforced = learning_story();
    enforced[1].body["learning"] = false.into();
    tell("learning-not-said", enforced.clone(), one(), With::but("policy", "fact-differs"));
    tell("learned-when-enforced", enforced, Value::Null, With::but("policy", "learned-differ"));
    let mut other = learning_story();
    other[3].body["action_digest"] = Digest::of(b"other").to_string().into();
    tell("learned-of-another-action", other, one(), With::but("policy", "not-allowed"));
    let mut unnamed = learning_story();
    unnamed[4].body.as_object_mut().unwrap().remove("learned");
    tell("learned-not-named", unnamed, one(), With::but("policy", "not-allowed"));
    let mut reused = learning_story();
    reused[9].body["outcome"] = "ask".into();
    reused[9].body["learned"] = 3.into();
    let ledger = "learned-twice.ledger";
    set.file(ledger, lines(&reused).concat());
    let mut statement = stating("/predicate/ledger", head(&reused, 11));
    statement["predicate"]["denials"] = json!({});
    statement["predicate"]["learned"] = one();
    let with = With::but("policy", "not-allowed").ledger(Some(ledger));
    set.receipt("learned-twice", sealed(&statement), with);

    let file = "learning.receipt.json";
    let ledger = || Some("learning.ledger");
    set.judge("learning-allowed", file, policy().accepted().allow(&["learning"]).ledger(ledger()));
    set.judge(
        "learning-allow-others",
        file,
        policy().allow(&["unverified", "no-ledger"]).ledger(ledger()),
    );
    let alone = || With::without_ledger().and("policy", "learning");
    set.judge("learning-without-ledger", file, alone().allow(&["no-ledger"]));
    set.judge(
        "learning-without-ledger-allowed",
        file,
        alone().accepted().allow(&["no-ledger", "learning"]),
    );
    set.judge(
        "learned-of-another-action-allowed",
        "learned-of-another-action.receipt.json",
        With::but("policy", "not-allowed")
            .allow(&["learning"])
            .ledger(Some("learned-of-another-action.ledger")),
    );
}
