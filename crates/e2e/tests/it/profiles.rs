//! Profiles, layers and trust, as the program answers for them; limits, as it enforces them.

use testkit::{Ran, Repository, World};

crate::tests![
    a_good_profile_checks,
    every_fault_of_a_profile_is_named_at_once,
    the_built_in_profiles_pass_their_own_tests,
    an_explanation_names_the_rule,
    a_failing_expectation_refuses_the_run,
    an_unknown_profile_is_named,
    a_profile_of_the_person_is_used,
    what_has_no_gate_yet_is_refused,
    a_profile_with_a_network_starts,
    a_missing_mount_is_an_error_that_names_its_key,
    a_mount_shows_what_it_names,
    a_mount_cannot_expose_loops_own_files,
    an_untrusted_project_configuration_is_ignored_and_told,
    trust_holds_for_the_content_that_was_seen,
    trust_is_kept_where_no_run_can_reach,
    the_processes_limit_ends_the_run,
    the_memory_limit_ends_the_run,
    the_disk_limit_ends_the_run,
    the_output_limit_ends_the_run,
    the_wall_limit_of_a_profile_ends_the_run,
    init_makes_a_configuration_once,
    doctor_knows_what_this_machine_can_do,
];

fn profile(world: &World, text: &str) -> String {
    world.write("profile.toml", text).to_str().unwrap().to_owned()
}

/// `loop exec` under a profile of this text.
fn under(world: &World, project: &Repository<'_>, text: &str, line: &[&str]) -> Ran {
    let profile = profile(world, text);
    world.exec_with(project, &["--profile", &profile], line).run().expect_no_panic()
}

fn a_good_profile_checks() {
    let world = World::new();
    let good = profile(
        &world,
        "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[limits]\nmemory = \"1GiB\"\n",
    );
    world.run_loop(world.path(), &["policy", "check", &good]).run().expect_code(0);
}

fn every_fault_of_a_profile_is_named_at_once() {
    let world = World::new();
    let bad = profile(
        &world,
        "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[limits]\nmemry = \"1GiB\"\nprocesses = \"many\"\n\n[[rule]]\naction = \"fly\"\nverdict = \"allow\"\n",
    );
    let ran = world.run_loop(world.path(), &["policy", "check", &bad]).run();
    let text = format!("{}{}", ran.out(), ran.err());
    assert_eq!(ran.code(), Some(1), "{ran}");
    for part in ["profile.toml:6", "memry", "profile.toml:7", "processes", "fly"] {
        assert!(text.contains(part), "{part} is missing\n{ran}");
    }
}

fn the_built_in_profiles_pass_their_own_tests() {
    let world = World::new();
    for name in ["read-only", "offline", "develop", "agent", "claude", "codex", "opencode"] {
        world.run_loop(world.path(), &["policy", "test", name]).run().expect_code(0);
        world
            .run_loop(world.path(), &["policy", "show", name, "--json"])
            .run()
            .expect_code(0)
            .json();
    }
}

fn an_explanation_names_the_rule() {
    let world = World::new();
    let file = profile(
        &world,
        "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[rule]]\nid = \"no-publish\"\naction = \"exec\"\nprogram = \"cargo\"\nargs = [\"publish\", \"**\"]\nverdict = \"deny\"\nreason = \"publishing can't be undone\"\n",
    );
    let ran = world
        .run_loop(
            world.path(),
            &["policy", "explain", "--profile", &file, "exec", "cargo", "publish"],
        )
        .run();
    let text = format!("{ran}");
    for part in ["deny", "no-publish", "profile.toml:5", "publishing can't be undone"] {
        assert!(text.contains(part), "{part} is missing\n{ran}");
    }
    let other = world
        .run_loop(world.path(), &["policy", "explain", "--json", "connect", "example.com:443"])
        .run();
    assert!(format!("{other}").contains("deny"), "{other}");
}

fn a_failing_expectation_refuses_the_run() {
    let world = World::new();
    let project = world.repository("project");
    let text = "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[expect]]\naction = \"connect\"\nhost = \"example.com\"\nport = 443\nverdict = \"allow\"\n";
    under(&world, &project, text, &["echo", "ran"])
        .expect_code(125)
        .expect_out("")
        .expect_err("profile.toml:5");
}

fn an_unknown_profile_is_named() {
    let world = World::new();
    let project = world.repository("project");
    let ran = world.exec_with(&project, &["--profile", "no-such"], &["echo", "ran"]).run();
    assert!(matches!(ran.code(), Some(125 | 127)), "{ran}");
    ran.expect_out("").expect_err("no-such");
    world
        .exec_with(&project, &["--profile", "./no-such.toml"], &["echo", "ran"])
        .run()
        .expect_out("")
        .expect_err("no-such.toml");
}

fn a_profile_of_the_person_is_used() {
    let world = World::new();
    let project = world.repository("project");
    world.write(
        "loop-home/profiles/mine.toml",
        "[profile]\nname = \"mine\"\nextends = \"read-only\"\n",
    );
    let ran = world.exec_with(&project, &["--profile", "mine"], &["touch", "x"]).run();
    ran.expect_code(1).expect_err("Read-only");
}

fn what_has_no_gate_yet_is_refused() {
    let world = World::new();
    let project = world.repository("project");
    let text = "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[rule]]\nid = \"run\"\naction = \"docker\"\nverdict = \"allow\"\n";
    under(&world, &project, text, &["echo", "ran"])
        .expect_code(125)
        .expect_out("")
        .expect_err("rule needs the Docker gate")
        .expect_err("remove the grant");
    let file = profile(&world, text);
    let shown = world.run_loop(&project, &["policy", "show", &file]).run().expect_code(0);
    assert!(shown.out().contains("not met"), "{shown}");
}

fn a_profile_with_a_network_starts() {
    let world = World::new();
    let project = world.repository("project");
    let line = ["sh", "-c", "getent hosts registry.npmjs.org; getent hosts example.com"];
    let ran = world.exec_with(&project, &["--profile", "develop"], &line).run();
    assert!(ran.out().starts_with("198.18.") && ran.out().lines().count() == 1, "{ran}");
    let shown = world.run_loop(&project, &["policy", "show", "develop"]).run().expect_code(0);
    assert!(shown.out().contains("registry.npmjs.org 443 GET HEAD"), "{shown}");
    assert!(!shown.out().contains("not met"), "{shown}");
}

fn a_missing_mount_is_an_error_that_names_its_key() {
    let world = World::new();
    let project = world.repository("project");
    let text = "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[mount]]\npath = \"/no/such/place\"\naccess = \"read\"\n";
    let ran = under(&world, &project, text, &["echo", "ran"]).expect_code(125).expect_out("");
    assert!(ran.err().contains("/no/such/place") && ran.err().contains("profile.toml"), "{ran}");
}

fn a_mount_shows_what_it_names() {
    let world = World::new();
    let project = world.repository("project");
    let shown = world.write("shown/data.txt", "data");
    let directory = shown.parent().unwrap().display();
    let mount = |access: &str| {
        format!(
            "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[mount]]\npath = \"{directory}\"\naccess = \"{access}\"\n"
        )
    };
    let script = format!("cat {directory}/data.txt; echo more > {directory}/more.txt");
    under(&world, &project, &mount("read"), &["sh", "-c", &script])
        .expect_code(2)
        .expect_out("data");
    under(&world, &project, &mount("scratch"), &["sh", "-c", &script])
        .expect_code(0)
        .expect_out("data");
    assert!(!world.path().join("shown/more.txt").exists());
    under(&world, &project, &mount("write"), &["sh", "-c", &script])
        .expect_code(0)
        .expect_out("data");
    assert!(world.path().join("shown/more.txt").exists());
}

fn a_mount_cannot_expose_loops_own_files() {
    let world = World::new();
    let project = world.repository("project");
    world.exec(&project, &["true"]).run().expect_code(0);
    for exposed in [
        world.loop_home(),
        world.config_home().join("loop"),
        world.config_home(),
        world.loop_home().join("run"),
    ] {
        for access in ["write", "scratch"] {
            let text = format!(
                "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[mount]]\npath = \"{}\"\naccess = \"{access}\"\n",
                exposed.display()
            );
            let script = format!(
                "find {} -name '*.key' -o -name 'ledger.jsonl' | head -3; echo x > {}/x",
                exposed.display(),
                exposed.display()
            );
            let ran = under(&world, &project, &text, &["sh", "-c", &script]);
            assert!(!exposed.join("x").exists(), "{ran}");
            assert!(ran.code() == Some(125) || !ran.out().contains("key"), "{ran}");
            if access == "write" {
                ran.expect_code(125);
            }
        }
    }
}

fn an_untrusted_project_configuration_is_ignored_and_told() {
    let world = World::new();
    let project = world.repository("project");
    project.write(
        ".loop/config.toml",
        "[limits]\nprocesses = 3\n\n[environment]\nset = { FROM_PROJECT = \"yes\" }\n",
    );
    let ran = world
        .exec(&project, &["sh", "-c", "echo ${FROM_PROJECT-no}"])
        .run()
        .expect_code(0)
        .expect_out("no");
    ran.expect_err("not trusted").expect_err("loop trust");
}

fn trust_holds_for_the_content_that_was_seen() {
    let world = World::new();
    let project = world.repository("project");
    let line = ["sh", "-c", "echo ${FROM_PROJECT-no}"];
    project.write(".loop/config.toml", "[environment]\nset = { FROM_PROJECT = \"one\" }\n");
    world.run_loop(&project, &["trust", "--yes"]).run().expect_code(0);
    world.exec(&project, &line).run().expect_code(0).expect_out("one");
    project.write(".loop/config.toml", "[environment]\nset = { FROM_PROJECT = \"two\" }\n");
    world.exec(&project, &line).run().expect_code(0).expect_out("no").expect_err("not trusted");
    world.run_loop(&project, &["trust", "--yes"]).run().expect_code(0);
    world.exec(&project, &line).run().expect_code(0).expect_out("two");
    world.run_loop(&project, &["trust", "--forget"]).run().expect_code(0);
    world.exec(&project, &line).run().expect_code(0).expect_out("no");
}

fn trust_is_kept_where_no_run_can_reach() {
    let world = World::new();
    let project = world.repository("project");
    project.write(".loop/config.toml", "[environment]\nset = { A = \"b\" }\n");
    world.run_loop(&project, &["trust", "--yes"]).run().expect_code(0);
    let config = world.config_home().join("loop");
    assert!(std::fs::read_dir(&config).unwrap().count() > 0);
    let script = format!("ls {} 2>/dev/null", config.display());
    world.exec_with(&project, &["--quiet"], &["sh", "-c", &script]).run().expect_out("");
}

fn limited(limit: &str, script: &str) -> Ran {
    let world = World::new();
    let project = world.repository("project");
    let text = format!("[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[limits]\n{limit}\n");
    let ran = under(&world, &project, &text, &["sh", "-c", script]);
    assert_ne!(ran.code(), Some(0), "{ran}");
    world
        .exec_with(&project, &["--quiet"], &["echo", "next"])
        .run()
        .expect_code(0)
        .expect_out("next");
    ran
}

fn the_processes_limit_ends_the_run() {
    let ran = limited("processes = 30", "for i in $(seq 100); do sleep 1000 & done; wait");
    assert!(ran.err().contains("processes"), "{ran}");
}

fn the_memory_limit_ends_the_run() {
    let ran = limited(
        "memory = \"64MiB\"",
        "/usr/bin/python3 -c 'x = []\nwhile True: x.append(b\"x\" * 1000000)'",
    );
    assert!(ran.err().contains("memory"), "{ran}");
}

fn the_disk_limit_ends_the_run() {
    let ran = limited("disk = \"16MiB\"", "head -c 100000000 /dev/zero > big; sleep 1000");
    assert!(ran.err().contains("disk"), "{ran}");
}

fn the_output_limit_ends_the_run() {
    let ran = limited("output = \"1MiB\"", "yes");
    assert!(ran.err().contains("output"), "{}", ran.err());
    assert!(ran.stdout.len() < 8 << 20);
}

fn the_wall_limit_of_a_profile_ends_the_run() {
    let ran = limited("wall = \"500ms\"", "sleep 1000").expect_code(124);
    assert!(ran.err().contains("wall"), "{ran}");
}

fn init_makes_a_configuration_once() {
    let world = World::new();
    let project = world.repository("project");
    world.run_loop(&project, &["init"]).run().expect_code(0);
    let text = project.read(".loop/config.toml");
    world.run_loop(&project, &["init"]).run().expect_code(0);
    assert_eq!(project.read(".loop/config.toml"), text);
    let ran = world.exec(&project, &["true"]).run().expect_code(0);
    assert!(!ran.err().contains("not trusted"), "what `init` made is trusted\n{ran}");
}

fn doctor_knows_what_this_machine_can_do() {
    let world = World::new();
    let json = world.run_loop(world.path(), &["doctor", "--json"]).run().expect_code(0).json();
    assert_eq!(json["ready"], true);
    assert!(json["checks"].as_array().unwrap().len() > 4, "{json}");
}
