//! What people read, as snapshots. Every one is also checked for bytes that a terminal would obey.

use api::{Engine as _, Problem, exit};
use ledger::SigningKey;

use crate::fake::{self, Fake, HOSTILE, ended_badly, findings, rule};
use crate::play::{Played, play, play_with};

fn snapshot(name: &str, words: &str) {
    show(name, words, &play(words, Fake::default()));
}

fn show(name: &str, words: &str, played: &Played) {
    played.assert_inert();
    insta::assert_snapshot!(name, played.told(words));
}

#[test]
fn exec_says_little_where_nothing_happened() {
    snapshot("exec", "exec -- true");
}

#[test]
fn exec_names_the_limit_the_denials_and_what_is_not_trusted() {
    let fake = Fake { exec: Some(ended_badly()), ..Fake::default() };
    show("exec_badly", "exec -- ./bomb", &play("exec -- ./bomb", fake));
}

#[test]
fn exec_says_that_it_learned() {
    for (name, learned) in [("exec_learn", fake::denials()), ("exec_learn_nothing", vec![])] {
        let report = api::ExecReport { learned: Some(learned), ..fake::ended_well() };
        let fake = Fake { exec: Some(report), ..Fake::default() };
        show(name, "exec --learn -- make", &play("exec --learn -- make", fake));
    }
}

/// All of a proposal can be appended to a profile.
#[test]
fn a_proposal_is_toml() {
    for words in ["policy propose", "policy propose builtin", "policy propose none"] {
        let played = play(words, Fake::default());
        let rules = played.out.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let rule = ["[[rule]]", "id = ", "action = ", "program = ", "args = ", "verdict = "];
        assert!(rules.clone().all(|line| rule.iter().any(|start| line.starts_with(start))));
        assert_eq!(rules.count() > 0, words != "policy propose none");
    }
}

#[test]
fn exec_in_a_session_goes_on() {
    let report =
        api::ExecReport { session: Some("dev".into()), receipt: None, ..fake::ended_well() };
    let fake = Fake { exec: Some(report), ..Fake::default() };
    show("exec_session", "exec --session dev -- make", &play("exec --session dev -- make", fake));
}

#[test]
fn a_problem_says_what_which_rule_and_what_next() {
    let mut problem = Problem::new(exit::DENIED, format!("denied {HOSTILE}"))
        .with_rule(rule("no-push", "~/.loop/config.toml", 12))
        .with_next("ask its owner");
    problem.findings = findings();
    for (name, words) in [("problem", "exec -- true"), ("problem_json", "show --json")] {
        let fake = Fake { problem: Some(problem.clone()), ..Fake::default() };
        show(name, words, &play(words, fake));
    }
}

#[test]
fn runs() {
    snapshot("runs", "runs");
    snapshot("runs_all", "runs --all");
    snapshot("runs_json", "runs --json");
    for (name, words) in [("runs_80", "runs"), ("runs_all_80", "runs --all")] {
        let played = play_with(words, Fake::default(), |console| console.columns = 80);
        assert!(played.out.lines().all(|line| line.chars().count() <= 80), "{}", played.out);
        show(name, words, &played);
    }
}

#[test]
fn show_one_run() {
    snapshot("show", "show");
    snapshot("show_agent", "show agent");
    snapshot("show_learn", "show learn");
    snapshot("show_broken", "show broken");
    snapshot("show_unchecked", "show unchecked");
    snapshot("show_json", "show k7m2 --json");
}

#[test]
fn audit_is_a_trace() {
    snapshot("audit", "audit");
    snapshot("audit_broken", "audit broken");
}

#[test]
fn diff() {
    snapshot("diff", "diff");
    snapshot("diff_git", "diff --git");
    snapshot("diff_stat", "diff --stat");
    snapshot("diff_stat_git", "diff --stat --git");
}

/// What went into the project is no change set, and not nothing.
#[test]
fn changes_of_direct_mode_are_in_the_project() {
    let report = api::ExecReport { mode: api::Mode::Direct, ..fake::ended_well() };
    let fake = Fake { exec: Some(report), ..Fake::default() };
    let words = "exec --mode direct -- make";
    show("exec_direct", words, &play(words, fake));
    snapshot("diff_direct", "diff direct");
    snapshot("diff_direct_stat", "diff direct --stat");
}

#[test]
fn commits_in_a_run_are_a_line() {
    let changes = api::ChangeCounts { git: 13, ..Default::default() };
    let fake = Fake {
        exec: Some(api::ExecReport { changes: Some(changes), ..fake::ended_well() }),
        ..Fake::default()
    };
    show("exec_git", "exec -- git commit", &play("exec -- git commit", fake));
}

#[test]
fn json_keeps_everything() {
    let played = play("diff --json", Fake::default());
    for path in [".git/hooks/pre-commit", "docs"] {
        assert!(played.out.contains(&format!("\"path\": \"{path}\"")), "{}", played.out);
    }
}

#[test]
fn a_diff_into_a_file_is_exact() {
    let played = play_with("diff", Fake::default(), |console| console.out.terminal = false);
    assert!(played.out.contains("+new\x1b[2J\n"));
    assert!(!played.err.contains('\x1b'));
}

#[test]
fn apply_explains_what_it_held() {
    snapshot("apply", "apply");
    snapshot("apply_nothing", "apply k7m2 .claude");
    snapshot("apply_dry", "apply --dry-run");
}

#[test]
fn commits_on_a_branch() {
    snapshot("branch", "branch k7m2 fix");
    snapshot("branch_dry_run", "branch fix --dry-run");
    snapshot("branch_moved", "branch fix --force");
    snapshot("git", "git log --oneline");
}

#[test]
fn discard_undo_and_stop() {
    snapshot("discard", "discard");
    snapshot("undo", "undo");
    snapshot("stop", "stop dev");
}

#[test]
fn policy() {
    snapshot("policy_check", "policy check good.toml");
    snapshot("policy_check_bad", "policy check bad.toml");
    snapshot("policy_show", "policy show");
    snapshot("policy_explain", "policy explain exec git push origin main");
    snapshot("policy_propose", "policy propose");
    snapshot("policy_propose_builtin", "policy propose builtin");
    snapshot("policy_propose_nothing", "policy propose none");
    snapshot("policy_propose_json", "policy propose --json");
    snapshot("policy_test", "policy test");
    snapshot("policy_test_bad", "policy test bad");
}

#[test]
fn contract() {
    snapshot("contract_check", "contract check");
    snapshot("contract_check_bad", "contract check bad.toml");
    snapshot("contract_propose", "contract propose make it work");
    snapshot("contract_propose_nothing", "contract propose");
    snapshot("contract_propose_json", "contract propose it --json");
}

#[test]
fn a_draft_goes_into_a_new_file_only() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("contract.toml");
    let words = format!("contract propose it --output {}", file.display());
    let played = play(&words, Fake::default());
    assert_eq!((played.code, played.out.as_str()), (0, ""));
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains("[[check]]"));
    let again = play(&words, Fake::default());
    assert_eq!(again.code, exit::NO);
    let told = format!("loop: {} is there already\n", file.display());
    assert_eq!(again.err, told + "  next  name a file that does not exist\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
}

#[test]
fn machine() {
    snapshot("key_show", "key show");
    snapshot("key_create", "key create second.key");
    snapshot("init", "init");
    snapshot("doctor", "doctor");
    snapshot("doctor_json", "doctor --json");
}

#[test]
fn trust_shows_before_it_asks() {
    snapshot("trust_nobody", "trust");
    snapshot("trust_yes", "trust --yes");
    snapshot("trust_forget", "trust --forget");
    snapshot("trust_contract_forget", "trust --contract --forget");
    let trusted = Fake { trusted: true, ..Fake::default() };
    show("trust_already", "trust", &play("trust", trusted));
    for (name, answer) in [("trust_agreed", "y\n"), ("trust_refused", "\n")] {
        let played = play_with("trust", Fake::default(), |console| {
            console.answers = true;
            console.input = Box::leak(Box::new(answer.as_bytes()));
        });
        show(name, "trust", &played);
    }
}

fn json<T: serde::de::DeserializeOwned>(words: &str) -> T {
    let played = play(&format!("{words} --json"), Fake::default());
    played.assert_inert();
    serde_json::from_str(&played.out).unwrap()
}

#[test]
fn json_is_the_answer_itself() {
    let fake = Fake::default();
    let run = api::RunRequest::default;
    assert_eq!(json::<Vec<api::RunSummary>>("runs"), fake.runs(Default::default()).unwrap());
    assert_eq!(json::<api::RunDetail>("show"), fake.show(run()).unwrap());
    assert_eq!(json::<api::AuditReport>("audit"), fake.audit(run()).unwrap());
    let diff = fake.diff(api::DiffRequest { run: run(), texts: true }).unwrap();
    assert_eq!(json::<api::DiffReport>("diff"), diff);
    assert_eq!(json::<api::ApplyReport>("apply"), fake.apply(Default::default()).unwrap());
    assert_eq!(json::<api::DiscardReport>("discard"), fake.discard(run()).unwrap());
    assert_eq!(json::<api::UndoReport>("undo"), fake.undo(run()).unwrap());
    assert_eq!(
        json::<api::AuthorityView>("policy show"),
        fake.policy_show(Default::default()).unwrap()
    );
    assert_eq!(
        json::<api::PolicyTestReport>("policy test"),
        fake.policy_test(Default::default()).unwrap()
    );
    assert_eq!(json::<api::KeyView>("key show"), fake.key_show().unwrap());
    assert_eq!(json::<api::InitReport>("init"), fake.init(Default::default()).unwrap());
    assert_eq!(json::<api::DoctorReport>("doctor"), fake.doctor().unwrap());
}

#[test]
fn colour_is_only_paint() {
    for words in ["show", "runs", "audit", "diff", "diff --stat", "apply", "doctor", "exec -- true"]
    {
        let plain = play(words, Fake::default());
        let painted = crate::play::play_painted(words, Fake::default());
        assert_ne!(painted.out.clone() + &painted.err, plain.out.clone() + &plain.err, "{words}");
        assert_eq!(unpainted(&painted.out), plain.out, "{words}");
        assert_eq!(unpainted(&painted.err), plain.err, "{words}");
    }
}

fn unpainted(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain + rest
}

#[test]
fn a_receipt_is_shown_and_verified() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::generate([7; 32]);
    let receipt = crate::receipt::write(dir.path(), &key);
    let file = receipt.to_str().unwrap();
    let fake = || Fake {
        receipt: Some(receipt.clone()),
        key: Some(key.verifying().to_text()),
        ..Fake::default()
    };
    for (name, words) in [
        ("receipt_show", "receipt show".to_owned()),
        ("receipt_verify", format!("receipt verify {file} --allow unverified")),
        ("receipt_verify_default", format!("receipt verify {file}")),
    ] {
        let played = play(&words, fake());
        played.assert_inert();
        let told = played.told(&words).replace(dir.path().to_str().unwrap(), "DIR");
        insta::assert_snapshot!(name, told);
    }
    let played = play(&format!("receipt verify {file} --allow unverified --json"), fake());
    let report: serde_json::Value = serde_json::from_str(&played.out).unwrap();
    assert_eq!(report["accepted"], true);
    std::fs::write(dir.path().join("changes.json"), "[1]").unwrap();
    let words = format!("receipt verify {file} --allow unverified");
    let told = play(&words, fake()).told(&words).replace(dir.path().to_str().unwrap(), "DIR");
    insta::assert_snapshot!("receipt_verify_other_changes", told);
}

#[test]
fn verification_needs_no_engine_once_it_has_a_key() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::generate([7; 32]);
    let receipt = crate::receipt::write(dir.path(), &key);
    let public = dir.path().join("a.pub");
    std::fs::write(&public, key.verifying().to_text()).unwrap();
    let (receipt, public) = (receipt.to_str().unwrap(), public.to_str().unwrap());
    for (words, code) in [
        (format!("receipt verify {receipt} --key {public} --allow unverified"), 0),
        (format!("receipt verify {receipt} --allow unsigned,unverified"), 0),
        (format!("receipt verify {receipt} --allow unverified"), exit::UNSAFE),
        (format!("receipt verify {receipt} --key {receipt}"), exit::UNSAFE),
        (format!("receipt verify {receipt}.gone --key {public}"), exit::NOT_FOUND),
    ] {
        let played = crate::play::play_without_engine(&words);
        assert_eq!(played.code, code, "{words}\n{}{}", played.out, played.err);
    }
}

#[test]
fn a_trust_file_and_a_tree_are_asked_about_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::generate([7; 32]);
    let receipt = crate::receipt::write(dir.path(), &key);
    let (trust, receipt) = (dir.path().join("trust.toml"), receipt.to_str().unwrap());
    let public = key.verifying().to_text();
    let entry = format!("[[key]]\nname = \"ada\"\npublic = \"{}\"\n", public.trim_end());
    let words = |more: &str| {
        let trust = trust.to_str().unwrap();
        format!("receipt verify {receipt} --allow unverified --trust {trust}{more}")
    };
    let tree = format!(" --tree {}", dir.path().to_str().unwrap());
    for (text, more, code, told) in [
        (entry.clone(), "", 0, "accepted"),
        (entry.clone(), tree.as_str(), 0, "tree          holds"),
        (entry.clone(), " --tree /none", exit::NOT_FOUND, "the tree /none can't be read"),
        (entry.clone() + "outcomes = []\n", "", 1, "may not sign for the outcome unverified"),
        (entry.clone() + "until = 2026-11-01\n", "", 1, "counts until 2026-11-01"),
        (entry.clone() + "friend = true\n", "", exit::UNSAFE, "trust.toml:4: unknown key `friend`"),
        (entry + "friend = 1\nfoe = 2\n", "", exit::UNSAFE, "the trust file has 2 faults\n"),
    ] {
        std::fs::write(&trust, text).unwrap();
        let played = crate::play::play_without_engine(&words(more));
        assert_eq!(played.code, code, "{}{}", played.out, played.err);
        assert!(
            format!("{}{}", played.out, played.err).contains(told),
            "{}{}",
            played.out,
            played.err
        );
    }
}

#[test]
fn a_head_that_is_kept_elsewhere() {
    for (name, words) in [
        ("receipt_witness", "receipt witness --to heads.jsonl"),
        ("receipt_witness_again", "receipt witness k7m2 --to heads.jsonl --key second.key"),
    ] {
        let played = play(words, Fake::default());
        played.assert_inert();
        insta::assert_snapshot!(name, played.told(words));
    }
}

#[test]
fn leases() {
    let add = "lease add anthropic --host api.anthropic.com --header x-api-key --from env:KEY";
    snapshot("lease_add", add);
    snapshot("lease_list", "lease list");
    snapshot("lease_list_json", "lease list --json");
    snapshot("lease_revoke", "lease revoke anthropic");
}
