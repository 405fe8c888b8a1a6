//! Ledger and receipt: what they say, and that whoever touched them is found out.

use std::path::{Path, PathBuf};

use ledger::{Expect, verify_ledger};
use testkit::{Ran, World};

crate::tests![
    a_receipt_verifies_and_says_unverified,
    the_small_verifier_agrees,
    a_receipt_needs_nothing_of_ours,
    any_changed_byte_is_found,
    a_cut_ledger_is_found,
    a_ledger_of_another_run_is_found,
    another_key_does_not_do,
    failed_and_stopped_runs_have_receipts,
    the_trace_reads_in_order,
    applying_is_recorded,
    a_secret_of_the_environment_is_nowhere,
    the_key_is_the_owners_alone,
];

struct Evidence {
    world: World,
    run: PathBuf,
}

impl Evidence {
    fn of(script: &str) -> Self {
        let world = World::new();
        let project = world.repository("project");
        world.exec_with(&project, &["--quiet"], &["sh", "-c", script]).run();
        let run = world.runs().pop().unwrap();
        Self { world, run }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.run.join(name)
    }

    fn verify(&self, more: &[&str]) -> Ran {
        let receipt = self.file("receipt.json");
        let arguments = [&["receipt", "verify", receipt.to_str().unwrap()], more].concat();
        self.world.run_loop(self.world.path(), &arguments).run().expect_no_panic()
    }

    fn key(&self) -> PathBuf {
        let key =
            self.world.run_loop(self.world.path(), &["key", "show"]).run().expect_code(0).out();
        self.world.write("loop.pub", key + "\n")
    }
}

fn a_receipt_verifies_and_says_unverified() {
    let evidence = Evidence::of("echo n > n.txt");
    evidence.verify(&["--allow", "unverified"]).expect_code(0);
    let strict = evidence.verify(&[]).expect_code(1);
    assert!(format!("{strict}").contains("unverified"), "{strict}");
    let json = evidence.verify(&["--allow", "unverified", "--json"]).expect_code(0).json();
    assert!(json.is_object());
}

/// `loop-verify` beside the program under test.
pub(crate) fn small_verifier(world: &World) -> String {
    let loop_program = world.run_loop(world.path(), &[]).into_command().get_program().to_owned();
    let small = Path::new(&loop_program).with_file_name("loop-verify");
    assert!(small.is_file(), "there is no {}", small.display());
    small.to_str().unwrap().to_owned()
}

fn the_small_verifier_agrees() {
    let evidence = Evidence::of("echo n > n.txt");
    let (receipt, key) = (evidence.file("receipt.json"), evidence.key());
    let small = small_verifier(&evidence.world);
    let ledger = evidence.file("ledger.jsonl");
    let changes = evidence.file("changes.json");
    let line = [
        small.as_str(),
        receipt.to_str().unwrap(),
        "--key",
        key.to_str().unwrap(),
        "--ledger",
        ledger.to_str().unwrap(),
        "--changes",
        changes.to_str().unwrap(),
    ];
    let strict = evidence.world.outside(evidence.world.path(), &line).run();
    strict.expect_code(1);
    let allowing = [line.as_slice(), &["--allow", "unverified"]].concat();
    evidence.world.outside(evidence.world.path(), &allowing).run().expect_code(0);
}

fn a_receipt_needs_nothing_of_ours() {
    let evidence = Evidence::of("echo n > n.txt");
    let key = evidence.key();
    let elsewhere = World::new();
    for name in ["receipt.json", "ledger.jsonl", "changes.json"] {
        elsewhere.write(name, std::fs::read(evidence.file(name)).unwrap());
    }
    let line = [
        "receipt",
        "verify",
        "receipt.json",
        "--allow",
        "unverified",
        "--key",
        key.to_str().unwrap(),
    ];
    elsewhere.run_loop(elsewhere.path(), &line).run().expect_code(0);
    let without_key = elsewhere.run_loop(elsewhere.path(), &line[..5]).run().expect_no_panic();
    assert_ne!(without_key.code(), Some(0), "{without_key}");
}

fn any_changed_byte_is_found() {
    let evidence = Evidence::of("echo n > n.txt");
    for name in ["receipt.json", "ledger.jsonl", "changes.json"] {
        let whole = std::fs::read(evidence.file(name)).unwrap();
        for at in (0..whole.trim_ascii_end().len()).step_by(whole.len() / 40 + 1) {
            let mut altered = whole.clone();
            altered[at] ^= 1;
            std::fs::write(evidence.file(name), &altered).unwrap();
            let ran = evidence.verify(&["--allow", "unverified"]);
            assert_eq!(ran.code(), Some(1), "{name}, byte {at}\n{ran}");
        }
        std::fs::write(evidence.file(name), &whole).unwrap();
    }
    evidence.verify(&["--allow", "unverified"]).expect_code(0);
}

fn a_cut_ledger_is_found() {
    let evidence = Evidence::of("echo n > n.txt");
    let ledger = std::fs::read_to_string(evidence.file("ledger.jsonl")).unwrap();
    let lines: Vec<&str> = ledger.lines().collect();
    let shorter = lines[..lines.len() - 1].join("\n") + "\n";
    std::fs::write(evidence.file("ledger.jsonl"), shorter).unwrap();
    evidence.verify(&["--allow", "unverified"]).expect_code(1);
    std::fs::write(evidence.file("ledger.jsonl"), "").unwrap();
    evidence.verify(&["--allow", "unverified"]).expect_code(1);
    std::fs::remove_file(evidence.file("ledger.jsonl")).unwrap();
    evidence.verify(&["--allow", "unverified"]).expect_code(1);
}

fn a_ledger_of_another_run_is_found() {
    let evidence = Evidence::of("echo n > n.txt");
    let other = Evidence::of("echo n > n.txt");
    std::fs::copy(other.file("ledger.jsonl"), evidence.file("ledger.jsonl")).unwrap();
    evidence.verify(&["--allow", "unverified"]).expect_code(1);
}

fn another_key_does_not_do() {
    let evidence = Evidence::of("echo n > n.txt");
    let other = Evidence::of("true");
    let key = other.key();
    evidence.verify(&["--allow", "unverified", "--key", key.to_str().unwrap()]).expect_code(1);
    evidence
        .verify(&["--allow", "unverified,unsigned", "--key", key.to_str().unwrap()])
        .expect_code(1);
}

fn failed_and_stopped_runs_have_receipts() {
    for script in ["exit 3", "kill -KILL $$"] {
        let evidence = Evidence::of(script);
        evidence.verify(&["--allow", "unverified"]).expect_no_panic();
        let json = evidence.verify(&["--json"]).json();
        assert!(json.is_object(), "{json}");
        assert!(evidence.file("receipt.json").is_file());
    }
}

fn the_trace_reads_in_order() {
    let evidence = Evidence::of("echo n > n.txt");
    let project = evidence.world.path().join("project");
    let json = evidence.world.run_loop(&project, &["audit", "--json"]).run().expect_code(0).json();
    let kinds: Vec<&str> = json["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["kind"].as_str().unwrap())
        .collect();
    let place = |kind: &str| {
        kinds
            .iter()
            .position(|found| *found == kind)
            .unwrap_or_else(|| panic!("no {kind} in {kinds:?}"))
    };
    assert!(place("genesis") < place("run.start"));
    assert!(place("run.start") < place("exec.intent"));
    assert!(place("exec.intent") < place("exec.result"));
    assert!(place("exec.result") < place("changes"));
    let text = evidence.world.run_loop(&project, &["audit"]).run().expect_code(0).out();
    assert!(text.contains("exec.intent") && text.contains("echo n > n.txt"), "{text}");
}

fn applying_is_recorded() {
    let evidence = Evidence::of("echo n > n.txt");
    let project = evidence.world.path().join("project");
    evidence.world.run_loop(&project, &["apply"]).run().expect_code(0);
    evidence.world.run_loop(&project, &["undo"]).run().expect_code(0);
    let json = evidence.world.run_loop(&project, &["audit", "--json"]).run().expect_code(0).json();
    let records = json["records"].as_array().unwrap();
    for kind in ["apply.intent", "apply.result", "undo.intent", "undo.result"] {
        assert!(records.iter().any(|record| record["kind"] == kind), "no {kind}");
    }
    let bytes = std::fs::read(evidence.file("ledger.jsonl")).unwrap();
    assert!(verify_ledger(&bytes, Expect::default()).holds());
    evidence.verify(&["--allow", "unverified"]).expect_code(0);
}

fn a_secret_of_the_environment_is_nowhere() {
    let world = World::new();
    let project = world.repository("project");
    world
        .exec(&project, &["sh", "-c", "echo hello"])
        .env("API_KEY", "canary-31337")
        .run()
        .expect_code(0);
    let find = world.outside(world.path(), &["grep", "-r", "-l", "canary-31337", "."]).run();
    find.expect_code(1).expect_out("");
}

fn the_key_is_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let evidence = Evidence::of("true");
    let config = evidence.world.config_home().join("loop");
    assert_eq!(config.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let open = std::fs::read_dir(&config).unwrap().map(|entry| entry.unwrap()).filter(|entry| {
        let mode = entry.metadata().unwrap().permissions().mode();
        mode & 0o077 != 0 && entry.path().extension().is_none_or(|extension| extension != "pub")
    });
    assert_eq!(open.map(|entry| entry.path()).collect::<Vec<_>>(), Vec::<PathBuf>::new());
}
