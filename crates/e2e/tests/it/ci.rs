//! Receipts that real runs left, where a change is reviewed: signed heads, a witness, a trust file, and the script for CI.

use std::path::{Path, PathBuf};

use testkit::{Ran, Repository, World};

crate::tests![
    a_verified_change_passes_with_its_receipt,
    what_the_receipt_does_not_vouch_for_is_refused,
    a_ledger_that_was_cut_shows_by_its_heads,
    a_witness_shows_a_ledger_that_was_replaced,
    a_key_of_the_trust_file_is_held_to_it,
];

/// A repository whose base trusts the person's key.
struct Desk<'a> {
    world: &'a World,
    project: Repository<'a>,
    base: String,
}

impl<'a> Desk<'a> {
    fn new(world: &'a World) -> Self {
        let project = world.repository("project");
        project.write("n.txt", "old\n");
        project.write(".loop/trust.toml", trust(world, ""));
        project.commit("base");
        let base = project.git(&["rev-parse", "HEAD"]).trim().to_owned();
        Self { world, project, base }
    }

    /// A run that changes a file, applied and committed with its receipt.
    fn change(&self, flags: &[&str]) -> PathBuf {
        let flags = [&["--quiet"], flags].concat();
        self.world
            .exec_with(self.project.path(), &flags, &["sh", "-c", "echo new > n.txt"])
            .run()
            .expect_code(0);
        let run = self.world.runs().pop().unwrap();
        self.world.run_loop(self.project.path(), &["apply"]).run().expect_code(0);
        let kept = self.project.path().join(".loop/receipts").join(run.file_name().unwrap());
        std::fs::create_dir_all(&kept).unwrap();
        for name in ["receipt.json", "ledger.jsonl", "changes.json", "heads.jsonl"] {
            std::fs::copy(run.join(name), kept.join(name)).unwrap();
        }
        self.commit();
        kept
    }

    fn commit(&self) {
        self.project.git(&["add", "--all", "--force"]);
        self.project.git(&["commit", "--quiet", "--message", "change"]);
    }

    fn script(&self, settings: &[(&str, &str)]) -> Ran {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/verify-receipts.sh");
        let line = ["sh", script.to_str().unwrap(), &self.base];
        let launch = self.world.outside(self.project.path(), &line);
        let launch = launch.env("LOOP_VERIFY", crate::evidence::small_verifier(self.world));
        settings.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).run()
    }
}

fn trust(world: &World, more: &str) -> String {
    let key = world.run_loop(world.path(), &["key", "show"]).run().expect_code(0).out();
    format!(
        "[[key]]\nname = \"me\"\npublic = \"{}\"\nprojects = [\"**/project\"]\n{more}",
        key.trim_end()
    )
}

fn a_verified_change_passes_with_its_receipt() {
    let world = World::new();
    let desk = Desk::new(&world);
    desk.change(&["--check", "grep -q new n.txt"]);
    let ran = desk.script(&[]).expect_code(0);
    assert!(ran.out().contains("receipts vouch for this change"), "{ran}");
}

fn what_the_receipt_does_not_vouch_for_is_refused() {
    let world = World::new();
    let desk = Desk::new(&world);
    let kept = desk.change(&[]);
    let refused = |settings: &[(&str, &str)], word: &str| {
        let ran = desk.script(settings).expect_code(1);
        assert!(ran.out().contains(word), "no \"{word}\"\n{ran}");
    };
    refused(&[], "run again with a contract");
    let allow = [("LOOP_ALLOW", "unverified")];
    desk.script(&allow).expect_code(0);
    let ledger = kept.join("ledger.jsonl");
    let whole = std::fs::read(&ledger).unwrap();
    for at in (0..whole.len() - 1).step_by(whole.len() / 12 + 1) {
        let mut altered = whole.clone();
        altered[at] ^= 1;
        std::fs::write(&ledger, altered).unwrap();
        refused(&allow, "commit the ledger.jsonl of this very run");
    }
    std::fs::write(&ledger, whole).unwrap();
    desk.project.write("n.txt", "newer\n");
    refused(&allow, "n.txt holds another file");
    desk.project.write("n.txt", "new\n");
    desk.project.write("other.txt", "");
    desk.commit();
    refused(&allow, "other.txt");
}

fn a_ledger_that_was_cut_shows_by_its_heads() {
    let world = World::new();
    let desk = Desk::new(&world);
    desk.change(&[]);
    let run = world.runs().pop().unwrap();
    let heads = std::fs::read_to_string(run.join("heads.jsonl")).unwrap();
    assert!(heads.lines().count() >= 3, "start, end and apply: {heads}");
    world.run_loop(desk.project.path(), &["audit"]).run().expect_code(0);
    // The receipt does not cover the apply, and without it nothing but the heads says how long the ledger was.
    let whole = std::fs::read_to_string(run.join("ledger.jsonl")).unwrap();
    let shorter: Vec<&str> = whole.lines().collect();
    std::fs::write(run.join("ledger.jsonl"), shorter[..shorter.len() - 1].join("\n") + "\n")
        .unwrap();
    let receipt = run.join("receipt.json");
    let words = ["receipt", "verify", receipt.to_str().unwrap(), "--allow", "unverified"];
    let ran = world.run_loop(world.path(), &words).run().expect_code(1);
    assert!(ran.out().contains("cut short"), "{ran}");
    std::fs::remove_file(receipt).unwrap();
    let ran = world.run_loop(desk.project.path(), &["audit"]).run().expect_code(1);
    assert!(ran.out().contains("cut short"), "{ran}");
}

fn a_witness_shows_a_ledger_that_was_replaced() {
    let world = World::new();
    let desk = Desk::new(&world);
    desk.change(&[]);
    let run = world.runs().pop().unwrap();
    let witness = world.path().join("witness.jsonl");
    let witness = witness.to_str().unwrap();
    for word in ["kept in", "already in"] {
        let words = ["receipt", "witness", "--to", witness];
        let ran = world.run_loop(desk.project.path(), &words).run().expect_code(0);
        assert!(ran.out().contains(word), "{ran}");
    }
    let receipt = run.join("receipt.json");
    let words = [
        "receipt",
        "verify",
        receipt.to_str().unwrap(),
        "--allow",
        "unverified",
        "--witness",
        witness,
    ];
    world.run_loop(world.path(), &words).run().expect_code(0);
    // Everything beside the ledger is cut with it, to where the receipt ends.
    let whole = std::fs::read_to_string(run.join("ledger.jsonl")).unwrap();
    let end = whole.lines().position(|line| line.contains("\"kind\":\"run.end\"")).unwrap();
    let shorter: Vec<&str> = whole.lines().take(end + 1).collect();
    std::fs::write(run.join("ledger.jsonl"), shorter.join("\n") + "\n").unwrap();
    std::fs::remove_file(run.join("heads.jsonl")).unwrap();
    world.run_loop(world.path(), &words[..5]).run().expect_code(0);
    let ran = world.run_loop(world.path(), &words).run().expect_code(1);
    assert!(ran.out().contains("cut short"), "{ran}");
}

fn a_key_of_the_trust_file_is_held_to_it() {
    let world = World::new();
    let desk = Desk::new(&world);
    desk.change(&[]);
    let receipt = world.runs().pop().unwrap().join("receipt.json");
    let words = ["receipt", "verify", receipt.to_str().unwrap(), "--allow", "unverified"];
    let own = world.config_home().join("loop/trust.toml");
    for (more, code, word) in [
        ("", 0, "accepted"),
        ("outcomes = [\"verified\"]\n", 1, "may not sign for the outcome unverified"),
        ("revoked = { on = 2026-11-20, why = \"it was stolen\" }\n", 1, "it was stolen"),
        ("until = 2020-01-01\n", 1, "counts until 2020-01-01"),
    ] {
        std::fs::write(&own, trust(&world, more)).unwrap();
        let ran = world.run_loop(world.path(), &words).run().expect_code(code);
        assert!(ran.out().contains(word), "{ran}");
    }
}
