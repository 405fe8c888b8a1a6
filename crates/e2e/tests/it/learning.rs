//! Learning runs, and what they propose: from a profile that allows nothing to one that allows what
//! was needed.

use testkit::{Ran, World};

crate::tests![
    what_was_learned_and_added_is_what_the_command_needs,
    a_learning_run_is_not_taken_for_an_enforced_one,
    a_denial_of_the_owner_is_let_through_once_and_never_proposed,
    what_leaves_the_sandbox_is_not_learned,
    where_a_run_cannot_learn,
    an_enforced_run_proposes_what_it_was_refused,
    an_action_is_explained_in_one_word_or_several,
];

const STRICT: &str =
    "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[defaults]\nexec = \"deny\"\n";
const LINE: &[&str] = &["/bin/sh", "-c", "/usr/bin/env true && ./script"];

/// A world with a project that has a script, and a profile of this text.
fn world(profile: &str) -> (World, String) {
    let world = World::new();
    let script = world.write("project/script", "#!/bin/sh\n/usr/bin/id -u > uid\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(script, mode).unwrap();
    let file = world.write("mine.toml", profile);
    (world, file.to_str().unwrap().to_owned())
}

fn exec(world: &World, flags: &[&str]) -> Ran {
    world.exec_with(world.path().join("project"), flags, LINE).run().expect_no_panic()
}

fn ask(world: &World, arguments: &[&str]) -> Ran {
    world.run_loop(world.path().join("project"), arguments).run().expect_no_panic()
}

fn what_was_learned_and_added_is_what_the_command_needs() {
    let (world, file) = world(STRICT);
    exec(&world, &["--profile", &file]).expect_code(126);
    exec(&world, &["--learn", "--profile", &file]).expect_code(0).expect_err("a learning run");
    let proposed = ask(&world, &["policy", "propose"]).expect_code(0).out();
    for part in ["program = \"/usr/bin/id\"\nargs = [\"-u\"]", "risk: runs-code", "append this to"]
    {
        assert!(proposed.contains(part), "{part} is missing\n{proposed}");
    }
    world.write("mine.toml", format!("{STRICT}\n{proposed}"));
    ask(&world, &["policy", "check", &file]).expect_code(0);
    exec(&world, &["--profile", &file]).expect_code(0);
    ask(&world, &["policy", "propose"]).expect_code(0).expect_err("");
    assert!(ask(&world, &["policy", "propose"]).out().contains("nothing to add"));
    // Nothing besides is allowed.
    let other = ["/bin/sh", "-c", "/usr/bin/id"];
    let project = world.path().join("project");
    world.exec_with(project, &["--profile", &file], &other).run().expect_code(126);
}

fn a_learning_run_is_not_taken_for_an_enforced_one() {
    let (world, file) = world(STRICT);
    exec(&world, &["--learn", "--profile", &file]).expect_code(0);
    let shown = ask(&world, &["show", "--json"]).expect_code(0).json();
    assert!(shown["learned"].as_array().unwrap().len() >= 3, "{shown}");
    let receipt = world.runs()[0].join("receipt.json");
    let receipt = receipt.to_str().unwrap();
    let verify = |allow: &str| ask(&world, &["receipt", "verify", receipt, "--allow", allow]);
    let refused = verify("unverified").expect_code(1).out();
    assert!(refused.contains("not accepted: policy"), "{refused}");
    verify("unverified,learning").expect_code(0);
}

fn a_denial_of_the_owner_is_let_through_once_and_never_proposed() {
    let (world, file) = world("[profile]\nname = \"mine\"\nextends = \"offline\"\n");
    world.write(
        "loop-home/config.toml",
        "[[rule]]\nid = \"no-id\"\naction = \"exec\"\nprogram = \"id\"\nverdict = \"deny\"\n",
    );
    exec(&world, &["--learn", "--profile", &file]).expect_code(0);
    let report = ask(&world, &["policy", "propose", "--json"]).expect_code(0).json();
    assert_eq!((&report["text"], &report["additions"]), (&"".into(), &serde_json::json!([])));
    assert_eq!(report["obstacles"][0]["rule"]["id"], "no-id");
    assert_eq!(report["obstacles"][0]["lifting"], serde_json::Value::Null);
}

fn what_leaves_the_sandbox_is_not_learned() {
    let (world, file) = world(STRICT);
    world.write("loop-home/config.toml", "[defaults]\napply = \"deny\"\n");
    exec(&world, &["--learn", "--profile", &file]).expect_code(0);
    ask(&world, &["apply"]).expect_code(126);
    assert!(!world.path().join("project/uid").exists());
    let report = ask(&world, &["policy", "propose", "--json"]).expect_code(0).json();
    let out = &report["left_out"][0];
    assert_eq!(out["why"], "it is decided where it is commanded", "{report}");
}

fn where_a_run_cannot_learn() {
    let (world, _) = world(STRICT);
    let direct = world.write(
        "direct.toml",
        "[profile]\nname = \"d\"\nextends = \"offline\"\n[workspace]\nmode = \"direct\"\n",
    );
    let refused = exec(&world, &["--learn", "--profile", direct.to_str().unwrap()]);
    refused.expect_code(125).expect_err("can't learn where changes land in the project");
    exec(&world, &["--learn", "--session", "s"]).expect_code(125).expect_err("--session");
    assert!(world.runs().is_empty());
}

fn an_enforced_run_proposes_what_it_was_refused() {
    let (world, file) = world(STRICT);
    exec(&world, &["--profile", &file]).expect_code(126);
    let report = ask(&world, &["policy", "propose", "--json"]).expect_code(0).json();
    assert_eq!(report["learning"], false);
    assert_eq!(report["additions"].as_array().unwrap().len(), 1, "{report}");
}

fn an_action_is_explained_in_one_word_or_several() {
    let rules = "\n[[rule]]\nid = \"all\"\naction = \"exec\"\nverdict = \"allow\"\n\n[[rule]]\nid = \"ask-push\"\n\
                 action = \"exec\"\nprogram = \"git\"\nargs = [\"push\", \"**\"]\nverdict = \"ask\"\nreason = \"others see it\"\n";
    let (world, file) = world(&format!("{STRICT}{rules}"));
    let one = ask(&world, &["policy", "explain", "-p", &file, "exec git push origin main"]);
    let text = one.expect_code(0).out();
    for part in
        ["ask exec ", "others see it", "ask-push (", "mine.toml:13)", "all (", "ask beats allow"]
    {
        assert!(text.contains(part), "{part} is missing\n{text}");
    }
    let words = ["policy", "explain", "-p", &file, "exec", "git", "push", "origin", "main"];
    assert_eq!(ask(&world, &words).expect_code(0).out(), text);
}
