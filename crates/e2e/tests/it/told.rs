//! What a person is told besides: which contract holds, why checks were not run, what is claimed
//! about what they apply.

use testkit::{Repository, World};

crate::tests![
    a_run_says_that_it_is_held_to_the_projects_contract,
    why_checks_were_not_run_is_told_later_too,
    who_verifies_what_was_applied_is_told_so,
    a_run_that_verified_another_counts_none_of_its_changes,
    verifying_again_and_again_is_of_the_first_run,
];

/// A project whose test wants `two` in `a.txt`.
fn project(world: &World) -> Repository<'_> {
    let project = world.repository("project");
    project.write("a.txt", "one\n");
    project.write("tests/a.sh", "grep -q two a.txt\n");
    project.commit("base");
    project
}

const CHECK: &str = "[[check]]\nname = \"c\"\nrun = \"sh tests/a.sh\"\nexpect = { exit = 0 }\n";
const MENDS: [&str; 3] = ["sh", "-c", "echo two > a.txt"];

fn a_run_says_that_it_is_held_to_the_projects_contract() {
    let world = World::new();
    let project = project(&world);
    project.write(".loop/contract.toml", CHECK);
    let checked = |flags: &[&str]| world.exec_with(&project, flags, &MENDS).run().expect_code(0);
    let ran = checked(&["--check", "true"]);
    assert!(ran.err().contains(".loop/contract.toml is not trusted, so it does not"), "{ran}");
    assert!(!ran.err().contains("held to"), "{ran}");
    world.run_loop(&project, &["trust", "--contract", "--yes"]).run().expect_code(0);
    let ran = checked(&["--check", "true"]);
    assert!(ran.err().starts_with("loop: held to "), "{ran}");
    assert!(ran.err().contains("loop: it was held to "), "{ran}");
    assert!(ran.err().contains("verified: 2 of 2 criteria met"), "{ran}");
    // Who names it knows.
    let ran = checked(&["--contract", ".loop/contract.toml"]);
    assert!(!ran.err().contains("held to"), "{ran}");
}

fn why_checks_were_not_run_is_told_later_too() {
    let world = World::new();
    let project = project(&world);
    let why = "its checks were not run, because the command ended with 7\n";
    let fails = ["sh", "-c", "echo two > a.txt; exit 7"];
    world.exec_with(&project, &["--check", "true"], &fails).run().expect_code(1).expect_err(why);
    let shown = world.run_loop(&project, &["show"]).run().expect_code(0);
    assert!(shown.out().contains(why), "{shown}");
    let applied = world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert!(applied.out().contains(", which failed\n"), "{applied}");
    let listed = world.run_loop(&project, &["runs"]).run().expect_code(0);
    assert!(listed.out().contains("applied  failed  "), "{listed}");
}

fn who_verifies_what_was_applied_is_told_so() {
    let world = World::new();
    let project = project(&world);
    world.exec_with(&project, &["--check", "true"], &MENDS).run().expect_code(0);
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    let ran = world.run_loop(&project, &["verify"]).run().expect_code(125);
    assert!(ran.err().contains(" is applied: a.txt is not what it was"), "{ran}");
    assert!(ran.err().contains("`git worktree add ../base "), "{ran}");
    // What it says to do does it.
    let base = ["git", "worktree", "add", "--quiet", "../base", "HEAD"];
    world.outside(&project, &base).run().expect_code(0);
    world.run_loop(&project, &["verify", "--dir", "../base"]).run().expect_code(0);
    world.run_loop(&project, &["undo"]).run().expect_code(0);
    world.run_loop(&project, &["verify"]).run().expect_code(0);
}

fn a_run_that_verified_another_counts_none_of_its_changes() {
    let world = World::new();
    let project = project(&world);
    world.exec_with(&project, &["--check", "true"], &MENDS).run().expect_code(0);
    world.run_loop(&project, &["verify"]).run().expect_code(0);
    let runs = world.run_loop(&project, &["runs", "--json"]).run().expect_code(0).json();
    let changes = [&runs[0], &runs[1]].map(|run| run["changes"]["edited"].as_u64());
    assert_eq!(changes, [Some(0), Some(1)]);
    assert_eq!(runs[0]["state"], "unchanged");
    // Elsewhere there is nothing of one's own to drop, only something that was checked.
    let base = ["git", "worktree", "add", "--quiet", "../base", "HEAD"];
    world.outside(&project, &base).run().expect_code(0);
    world.run_loop(&project, &["verify", "--dir", "../base"]).run().expect_code(0);
    let elsewhere = project.path().with_file_name("base");
    let nothing = world.run_loop(&elsewhere, &["discard"]).run().expect_code(127);
    assert!(nothing.err().contains("only checked again what others changed"), "{nothing}");
    // Whoever names no run means the changes, not the run that checked them last.
    let [checked, first] = [&runs[0], &runs[1]].map(|run| run["run"].as_str().unwrap());
    let diff = world.run_loop(&project, &["diff"]).run().expect_code(0);
    assert!(diff.out().contains("+++ b/a.txt"), "{diff}");
    let named = world.run_loop(&project, &["apply", checked]).run().expect_code(1);
    assert!(named.err().contains(&format!("`loop apply {first}`")), "{named}");
    for command in ["apply", "undo", "discard"] {
        let done = world.run_loop(&project, &[command, "--json"]).run().expect_code(0).json();
        assert_eq!(done["run"], first, "{command}");
    }
}

/// Ids of one day are in no order, so each of these has an even chance to come before the first.
fn verifying_again_and_again_is_of_the_first_run() {
    let world = World::new();
    let project = project(&world);
    world.exec_with(&project, &["--check", "true"], &MENDS).run().expect_code(0);
    let first = world.run_loop(&project, &["show", "--json"]).run().json()["run"].clone();
    for _ in 0..5 {
        let again = world.run_loop(&project, &["verify", "--json"]).run().expect_code(0).json();
        assert_eq!((&again["of"], &again["reproduced"]), (&first, &true.into()));
    }
}
