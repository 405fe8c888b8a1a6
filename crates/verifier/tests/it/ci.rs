//! `ci/verify-receipts.sh` against repositories whose changes have receipts, or lack them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ledger::{
    Base, Budget, Check, Criterion, Head, Ledger, OnBase, Outcome, Predicate, SigningKey,
    Statement, Verification, Verified, kind,
};
use names::{Digest, RunId, system_clock};
use serde_json::{Value, json};

const RUN: &str = "261129-k7m2qd";
const NEW: &str = "pub fn new() {}\n";

fn run() -> RunId {
    RunId::parse(RUN).unwrap()
}

/// A repository with a base, a change on top of it, and the receipt of that change.
struct Repository {
    place: tempfile::TempDir,
    key: SigningKey,
    base: String,
}

impl Repository {
    /// The base alone.
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let key = SigningKey::generate([7; 32]);
        let it = Self { place, key, base: String::new() };
        it.git(&["init", "--quiet", "--initial-branch=main"]);
        it.write("src/lib.rs", "pub fn old() {}\n");
        it.write(".loop/trust.toml", &it.trust("outcomes = [\"verified\", \"unverified\"]\n"));
        Self { base: it.commit(), ..it }
    }

    /// The base, the change, and its receipt, committed.
    fn with_receipt() -> Self {
        let it = Self::new();
        it.write("src/lib.rs", NEW);
        it.receipt(Outcome::Verified);
        it.commit();
        it
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn trust(&self, more: &str) -> String {
        let public = self.key.verifying().to_text();
        let public = public.trim_end();
        format!(
            "[[key]]\nname = \"ada\"\npublic = \"{public}\"\nprojects = [\"**/parser\"]\n{more}"
        )
    }

    #[expect(clippy::disallowed_methods, reason = "a scratch repository is git's")]
    fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"]);
        git.args(["-c", "commit.gpgsign=false"]).args(words).current_dir(self.place.path());
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = git.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--message", "change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Writes the receipt of a run that left `src/lib.rs` as it is now.
    fn receipt(&self, outcome: Outcome) {
        let place = self.path(&format!(".loop/receipts/{RUN}"));
        let after = std::fs::read_to_string(self.path("src/lib.rs")).unwrap();
        evidence(&place, &self.key, &self.base, &after, outcome);
    }

    #[expect(clippy::disallowed_methods, reason = "the script under test is a program")]
    fn script(&self, base: &str, settings: &[(&str, &str)]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/verify-receipts.sh");
        let mut command = Command::new("sh");
        command.arg(script).arg(base).current_dir(self.place.path());
        command.env("LOOP_VERIFY", env!("CARGO_BIN_EXE_loop-verify"));
        command.envs(settings.iter().copied()).output().unwrap()
    }

    fn accepts(&self, settings: &[(&str, &str)]) {
        let output = self.script(&self.base, settings);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(text.ends_with("receipts vouch for this change\n"), "{text}");
    }

    /// Refused, with what happened and what to do about it.
    fn refuses(&self, settings: &[(&str, &str)], words: &[&str]) {
        let output = self.script(&self.base, settings);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            output.status.code(),
            Some(1),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        for word in ["refused: "].iter().chain(words) {
            assert!(text.contains(word), "no \"{word}\" in\n{text}");
        }
    }
}

/// Ledger, change set and receipt of a run that edited one file, as Loop leaves them.
fn evidence(place: &Path, key: &SigningKey, base: &str, after: &str, outcome: Outcome) {
    std::fs::create_dir_all(place).unwrap();
    let node = |text: &str| {
        let (digest, size) = (Digest::of(text.as_bytes()), text.len());
        json!({"type": "file", "mode": "0644", "size": size, "digest": digest})
    };
    let entry = json!({
        "path": "src/lib.rs", "kind": "edit", "before": node("pub fn old() {}\n"),
        "after": node(after), "flags": [], "stat": null,
    });
    let ignored = json!({
        "path": "target/cache", "kind": "add", "before": null, "after": node("x"),
        "flags": ["ignored"], "stat": null,
    });
    let changes = json!({"schema": 1, "entries": [entry, ignored]});
    let changes = names::canonical::to_vec(&changes).unwrap();
    std::fs::write(place.join("changes.json"), &changes).unwrap();
    let content = Digest::of(after.as_bytes()).to_string();
    let cache = Digest::of(b"x").to_string();
    let parts: [&[u8]; 6] = [
        b"src/lib.rs",
        b"100644",
        content.as_bytes(),
        b"target/cache",
        b"100644",
        cache.as_bytes(),
    ];
    let (changes, result) = (Digest::of(&changes), Digest::of_parts("loop-result-v1", &parts));
    let verified = (outcome == Outcome::Verified).then(|| verified(changes));
    let head = ledger(place, key, (changes, result), verified.as_ref(), outcome);
    let facts = predicate(head, base, verified, outcome);
    let envelope = ledger::seal(&Statement::new(changes, result, facts), key).unwrap();
    std::fs::write(place.join("receipt.json"), envelope.to_bytes()).unwrap();
}

fn verified(changes: Digest) -> Verified {
    let output = Digest::of(b"ok\n");
    let check = Check {
        name: "test".into(),
        command: "cargo test".into(),
        passed: true,
        exit: Some(0),
        output,
        base: Some(OnBase { passed: false, exit: Some(1), output }),
        pre_existing: false,
    };
    let criterion = Criterion { id: "c".into(), checks: vec!["test".into()], met: true };
    let verification = Verification {
        contract: Digest::of(b"contract"),
        changes,
        round: 1,
        criteria: vec![criterion],
        held: vec![],
        left_out: vec!["target/cache".into()],
        used_ignored: vec![],
        flags: vec![],
        review: None,
    };
    Verified { checks: vec![check], verification }
}

fn enforcement() -> Value {
    json!({"backend": "local"})
}

fn ledger(
    place: &Path,
    key: &SigningKey,
    (changes, result): (Digest, Digest),
    verified: Option<&Verified>,
    outcome: Outcome,
) -> Head {
    let path = place.join("ledger.jsonl");
    for old in [&path, &place.join("heads.jsonl")] {
        let _ = std::fs::remove_file(old);
    }
    let ledger = Ledger::create(&path, &run(), system_clock).unwrap();
    ledger.sign_heads(&place.join("heads.jsonl"), key.clone()).unwrap();
    ledger.commit(kind::RUN_START, &json!({"authority": Digest::of(b"authority")})).unwrap();
    ledger.commit(kind::ENFORCEMENT, &enforcement()).unwrap();
    if let Some(verified) = verified {
        ledger.commit(kind::VERIFICATION, verified).unwrap();
    }
    ledger.commit(kind::CHANGES, &json!({"digest": changes, "result": result})).unwrap();
    ledger.commit(kind::RUN_END, &json!({"outcome": outcome})).unwrap();
    ledger.finish().unwrap()
}

fn predicate(ledger: Head, base: &str, verified: Option<Verified>, outcome: Outcome) -> Predicate {
    let (checks, verification) = verified.map(|it| (it.checks, it.verification)).unzip();
    Predicate {
        run: run(),
        subject: "ada".into(),
        project: "/home/ada/parser".into(),
        started: system_clock(),
        ended: system_clock(),
        profile: "develop".into(),
        authority: Digest::of(b"authority"),
        base: Base { commit: Some(base.to_owned()), dirty: Some(false) },
        enforcement: enforcement(),
        leases: vec![],
        approvals: vec![],
        egress: vec![],
        denials: [].into(),
        learned: None,
        budget: Budget::default(),
        checks: checks.unwrap_or_default(),
        verification,
        follows: None,
        models: vec![],
        ledger,
        omissions: vec![],
        exit: Some(0),
        outcome,
    }
}

#[test]
fn a_change_with_its_receipt_is_accepted() {
    let it = Repository::with_receipt();
    it.accepts(&[]);
    it.git(&["branch", "--quiet", "start", &it.base]);
    assert!(it.script("start", &[]).status.success(), "a branch is a base, too");
}

#[test]
fn a_change_without_a_receipt_is_refused() {
    let it = Repository::new();
    it.write("src/lib.rs", NEW);
    it.commit();
    it.refuses(&[], &["no receipt in .loop/receipts", "commit receipt.json, ledger.jsonl"]);
    it.write(&format!(".loop/receipts/{RUN}/receipt.json"), "{}");
    it.commit();
    it.refuses(&[], &["commit the ledger.jsonl and changes.json of its run"]);
}

#[test]
fn unsigned_altered_and_unverified_receipts_are_refused() {
    let receipt = format!(".loop/receipts/{RUN}/receipt.json");
    let it = Repository::with_receipt();
    let good = std::fs::read_to_string(it.path(&receipt)).unwrap();
    let mut stripped: Value = serde_json::from_str(&good).unwrap();
    stripped["signatures"] = json!([]);
    it.write(&receipt, &stripped.to_string());
    it.commit();
    it.refuses(&[], &["the receipt is not signed", "sign with a key that the trust file"]);

    it.write(&receipt, &good.replacen("\"payload\":\"ey", "\"payload\":\"ez", 1));
    it.commit();
    it.refuses(&[], &["form", "commit the receipt as Loop wrote it"]);

    it.receipt(Outcome::Unverified);
    it.commit();
    it.refuses(&[], &["the outcome is unverified", "run again with a contract"]);
    it.accepts(&[("LOOP_ALLOW", "unverified")]);

    it.receipt(Outcome::Failed);
    it.commit();
    it.refuses(&[("LOOP_ALLOW", "unverified")], &["may not sign for the outcome failed"]);
}

#[test]
fn other_ledgers_and_change_sets_are_refused() {
    let it = Repository::with_receipt();
    let place = format!(".loop/receipts/{RUN}");
    let ledger = std::fs::read_to_string(it.path(&format!("{place}/ledger.jsonl"))).unwrap();
    let shorter: String = ledger.split_inclusive('\n').take(4).collect();
    it.write(&format!("{place}/ledger.jsonl"), &shorter);
    it.commit();
    it.refuses(&[], &["cut short", "commit the ledger.jsonl of this very run"]);
    it.write(&format!("{place}/ledger.jsonl"), &ledger);
    it.write(&format!("{place}/changes.json"), "{\"entries\":[],\"schema\":1}");
    it.commit();
    it.refuses(&[], &["the receipt is about", "commit the changes.json of this very run"]);
}

#[test]
fn a_receipt_of_something_else_is_refused() {
    let it = Repository::with_receipt();
    it.write("src/lib.rs", "pub fn evil() {}\n");
    it.commit();
    it.refuses(&[], &["src/lib.rs holds another file", "the files are not as the run left them"]);

    let it = Repository::with_receipt();
    it.write("build.rs", "fn main() {}\n");
    it.write("odd\nname", "");
    it.commit();
    it.refuses(
        &[],
        &["| build.rs\n", "| odd?name\n", "no accepted receipt touches the paths above"],
    );
    it.accepts(&[("LOOP_COVER", "none")]);

    let (it, other) = (Repository::new(), Repository::new());
    other.write("more", "");
    it.write("src/lib.rs", NEW);
    let place = it.path(&format!(".loop/receipts/{RUN}"));
    evidence(&place, &it.key, &other.commit(), NEW, Outcome::Verified);
    it.commit();
    it.refuses(&[], &["which is not part of this history", "of another repository or branch"]);
}

#[test]
fn whom_to_trust_is_said_by_the_base() {
    let it = Repository::new();
    let other = SigningKey::generate([8; 32]);
    it.write("src/lib.rs", NEW);
    let place = it.path(&format!(".loop/receipts/{RUN}"));
    evidence(&place, &other, &it.base, NEW, Outcome::Verified);
    let public = other.verifying().to_text();
    let own = format!("[[key]]\nname = \"eve\"\npublic = \"{}\"\n", public.trim_end());
    it.write(".loop/trust.toml", &own);
    it.commit();
    it.refuses(&[], &["no trusted key signed it"]);
    let outside = tempfile::tempdir().unwrap();
    let trust = outside.path().join("trust.toml");
    std::fs::write(&trust, own).unwrap();
    let settings = [("LOOP_TRUST", trust.to_str().unwrap()), ("LOOP_COVER", "none")];
    it.accepts(&settings);
    std::fs::write(&trust, it.trust("friend = true\n")).unwrap();
    assert_eq!(it.script(&it.base, &settings).status.code(), Some(2));
    let revoked = "revoked = { on = 2026-11-20, why = \"it was stolen\" }\n";
    let it = Repository::with_receipt();
    std::fs::write(&trust, it.trust(revoked)).unwrap();
    it.refuses(&settings, &["was revoked on 2026-11-20", "it was stolen"]);
    std::fs::write(&trust, it.trust("").replace("parser", "lexer")).unwrap();
    it.refuses(&settings, &["may not sign for the project /home/ada/parser"]);
}

#[test]
fn what_can_not_be_judged_is_told_from_a_refusal() {
    let it = Repository::with_receipt();
    for (base, settings, word) in [
        ("", vec![], "usage"),
        ("nowhere", vec![], "fetch the whole history"),
        ("HEAD", vec![("LOOP_COVER", "some")], "write all or none"),
        ("HEAD", vec![("LOOP_VERIFY", "no-such-program")], "there is no no-such-program"),
        ("HEAD", vec![("LOOP_TRUST", "/none")], "can't be read"),
    ] {
        let output = it.script(base, &settings);
        assert_eq!(output.status.code(), Some(2), "{base} {settings:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(word), "{text}");
    }
}

/// The action hands over every setting of the script, and none as text of a command.
#[test]
fn the_action_knows_the_settings_of_the_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let action = std::fs::read_to_string(root.join("action.yml")).unwrap();
    for setting in ["LOOP_TRUST", "LOOP_RECEIPTS", "LOOP_ALLOW", "LOOP_COVER", "LOOP_VERIFY"] {
        assert!(action.contains(&format!("{setting}: ${{{{ ")), "{setting}");
    }
    let commands = action.lines().filter(|line| line.trim_start().starts_with("run:"));
    assert!(
        commands.clone().count() == 2 && commands.into_iter().all(|line| !line.contains("${{"))
    );
}
