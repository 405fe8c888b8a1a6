//! Malformed input of every kind: a refusal in words with an exit code, never a panic, never a weaker run.

use testkit::{Ran, Repository, World};

crate::tests![
    command_lines_that_make_no_sense,
    runs_that_do_not_exist,
    profiles_that_are_not,
    a_malformed_owner_configuration_stops_every_run,
    a_malformed_project_configuration_is_named,
    a_project_directory_that_is_not_there,
    paths_that_are_not_of_the_project,
    receipts_cut_anywhere,
    keys_that_are_not,
    damaged_files_of_a_run,
    files_of_a_run_replaced_by_something_else,
    strangers_in_the_directory_of_runs,
    a_home_of_loop_that_is_a_file,
    a_home_that_is_not_set,
    a_search_path_that_is_not_set,
    standard_streams_that_are_closed,
];

/// A refusal: no panic, a code that is not success, words on standard error.
fn refused(ran: Ran) -> Ran {
    let ran = ran.expect_no_panic();
    assert!(!matches!(ran.code(), Some(0) | None), "it was not refused\n{ran}");
    assert!(!ran.err().is_empty() || !ran.out().is_empty(), "it was refused without a word\n{ran}");
    ran
}

fn changed(world: &World) -> Repository<'_> {
    let project = world.repository("project");
    world.exec_with(&project, &["--quiet"], &["sh", "-c", "echo n > n.txt"]).run().expect_code(0);
    project
}

fn command_lines_that_make_no_sense() {
    let world = World::new();
    let project = world.repository("project");
    let lines: &[&[&str]] = &[
        &["fly"],
        &["exec"],
        &["exec", "--"],
        &["exec", "--mode", "sideways", "--", "true"],
        &["exec", "--timeout", "soon", "--", "true"],
        &["exec", "--timeout", "-1s", "--", "true"],
        &["exec", "--timeout", "99999999999999999999h", "--", "true"],
        &["exec", "--env", "NOVALUE", "--", "true"],
        &["exec", "--env", "=x", "--", "true"],
        &["exec", "--env", "BAD NAME=x", "--", "true"],
        &["exec", "--session", "../x", "--", "true"],
        &["exec", "--session", "", "--", "true"],
        &["exec", "--session", "Größe", "--", "true"],
        &["exec", "--profile", "", "--", "true"],
        &["stop", "../x"],
        &["policy", "explain", "fly", "high"],
        &["policy", "explain", "connect", "exa mple:99999999"],
        &["attack", "--case", "Z99"],
        &["receipt", "verify"],
        &["completions", "cmd.exe"],
    ];
    for line in lines {
        refused(world.run_loop(&project, line).run());
    }
    assert!(world.runs().is_empty(), "none of them started a run");
}

fn runs_that_do_not_exist() {
    let world = World::new();
    let project = changed(&world);
    let long = "a".repeat(10_000);
    for run in ["261129-zzzzzz", "../../etc", "", "\x1b[31m", "..", "/", "261129-!", &long] {
        for command in ["show", "audit", "diff", "discard", "undo"] {
            let ran = refused(world.run_loop(&project, &[command, run]).run());
            assert!(!ran.err().contains('\x1b'), "{ran}");
        }
    }
    refused(world.run_loop(&project, &["apply", "261129-zzzzzz"]).run());
    world.run_loop(&project, &["show", "261129-zzzzzz"]).run().expect_code(127);
    let empty = world.repository("empty");
    for command in ["show", "audit", "diff", "apply", "discard", "undo"] {
        world.run_loop(&empty, &[command]).run().expect_code(127);
    }
}

fn profiles_that_are_not() {
    let world = World::new();
    let project = world.repository("project");
    let deep = format!("x = {}{}", "[".repeat(5000), "]".repeat(5000));
    let texts: &[&[u8]] = &[
        b"",
        b"\xff\xfe\x00",
        b"[profile",
        b"[profile]\nname = 3\n",
        b"[profile]\nname = \"x\"\nextends = \"x\"\n",
        b"[profile]\nname = \"x\"\nextends = \"../../etc/passwd\"\n",
        b"[profile]\nname = \"x\"\n[limits]\nmemory = \"-4GiB\"\n",
        b"[profile]\nname = \"x\"\n[limits]\nmemory = \"99999999999999999999GiB\"\n",
        b"[profile]\nname = \"x\"\n[limits]\ncpus = nan\n",
        b"[profile]\nname = \"x\"\n[limits]\nprocesses = 0\n",
        b"[profile]\nname = \"x\"\n[workspace]\nmode = \"upside-down\"\n",
        b"[profile]\nname = \"x\"\n[[mount]]\npath = \"relative\"\naccess = \"read\"\n",
        b"[profile]\nname = \"x\"\n[[mount]]\npath = \"/tmp/../etc\"\naccess = \"all\"\n",
        b"[profile]\nname = \"x\"\n[[network]]\nhost = \"*\"\n",
        b"[profile]\nname = \"x\"\n[[network]]\nhost = \"*.co.uk\"\n",
        b"[profile]\nname = \"x\"\n[[network]]\nhost = \"example.com\"\nports = [0]\n",
        b"[profile]\nname = \"x\"\n[[rule]]\naction = \"exec\"\nprogram = \"a\"\nverdict = \"perhaps\"\n",
        b"[profile]\nname = \"x\"\n[switch]\noff = true\n",
        deep.as_bytes(),
    ];
    for text in texts {
        let file = world.write("bad.toml", text);
        let file = file.to_str().unwrap();
        // An empty file is a profile that grants nothing: whether a run under it can start is another question.
        if !text.is_empty() {
            refused(world.run_loop(&project, &["policy", "check", file]).run());
            refused(world.exec_with(&project, &["--profile", file], &["echo", "ran"]).run())
                .expect_out("");
        }
        world.run_loop(&project, &["policy", "show", file]).run().expect_no_panic();
        world.run_loop(&project, &["policy", "test", file]).run().expect_no_panic();
    }
    let huge = world.write("huge.toml", vec![b'#'; 64 << 20]);
    refused(
        world.exec_with(&project, &["--profile", huge.to_str().unwrap()], &["echo", "ran"]).run(),
    )
    .expect_out("");
    for odd in ["/dev/zero", "/", "/proc/self/mem"] {
        refused(world.exec_with(&project, &["--profile", odd], &["echo", "ran"]).run())
            .expect_out("");
    }
}

fn a_malformed_owner_configuration_stops_every_run() {
    let world = World::new();
    let project = world.repository("project");
    world.write("loop-home/config.toml", "[limits]\nmemry = \"1GiB\"\n");
    let ran = refused(world.exec(&project, &["echo", "ran"]).run()).expect_code(125).expect_out("");
    assert!(ran.err().contains("config.toml:2") && ran.err().contains("memry"), "{ran}");
}

fn a_malformed_project_configuration_is_named() {
    let world = World::new();
    let project = world.repository("project");
    for text in ["[limits", "[limits]\nmemry = 1\n", "\0", "[limits]\nmemory = 3\n"] {
        project.write(".loop/config.toml", text);
        let ran = world.exec(&project, &["echo", "ran"]).run().expect_no_panic();
        let told = ran.err().contains(".loop/config.toml");
        assert!(told, "the file is not named\n{ran}");
        refused(world.run_loop(&project, &["trust", "--yes"]).run());
    }
}

fn a_project_directory_that_is_not_there() {
    let world = World::new();
    refused(world.exec_with(world.path(), &["-C", "/no/such/project"], &["true"]).run())
        .expect_err("/no/such/project");
    let file = world.write("file", "");
    refused(world.exec_with(world.path(), &["-C", file.to_str().unwrap()], &["true"]).run());
    refused(world.exec_with(world.path(), &["-C", "/"], &["true"]).run());
    refused(world.exec_with(world.path(), &["-C", "/proc"], &["true"]).run());
    let gone = world.directory("gone");
    let exec = world.exec(&gone, &["true"]).into_command();
    let script = format!(
        "rmdir '{}' && exec '{}' exec -- true",
        gone.display(),
        exec.get_program().to_str().unwrap()
    );
    refused(world.outside(&gone, &["sh", "-c", &script]).run());
}

fn paths_that_are_not_of_the_project() {
    let world = World::new();
    let project = changed(&world);
    for path in ["../x", "/etc/passwd", "a//b", "./", "a/../../b"] {
        refused(world.run_loop(&project, &["apply", "--flagged", path]).run());
        refused(world.run_loop(&project, &["apply", &format!("./{path}")]).run());
    }
    assert_eq!(project.status(), "");
}

fn receipts_cut_anywhere() {
    let world = World::new();
    changed(&world);
    let receipt = world.runs()[0].join("receipt.json");
    let whole = std::fs::read(&receipt).unwrap();
    let scratch = world.path().join("cut.json");
    for length in (0..whole.len() - 1).step_by(whole.len() / 60 + 1) {
        std::fs::write(&scratch, &whole[..length]).unwrap();
        let verify = [
            "receipt",
            "verify",
            scratch.to_str().unwrap(),
            "--allow",
            "unsigned,unverified,no-ledger,no-changes",
        ];
        refused(world.run_loop(world.path(), &verify).run()).expect_code(1);
    }
    let odd: &[&[u8]] =
        &[b"null", b"[]", b"{\"a\":1,\"a\":2}", b"{\"payload\":NaN}", &[b'['; 100_000], b"\xff"];
    for text in odd {
        std::fs::write(&scratch, text).unwrap();
        refused(
            world.run_loop(world.path(), &["receipt", "verify", scratch.to_str().unwrap()]).run(),
        )
        .expect_code(1);
    }
    refused(world.run_loop(world.path(), &["receipt", "verify", "/no/such/receipt"]).run());
    refused(world.run_loop(world.path(), &["receipt", "verify", "/"]).run());
}

fn keys_that_are_not() {
    let world = World::new();
    changed(&world);
    let receipt = world.runs()[0].join("receipt.json");
    for text in
        ["", "loop-ed25519", "loop-ed25519 !!!!", "loop-ed25519 AAAA", "ssh-ed25519 AAAA", "\0"]
    {
        let key = world.write("bad.pub", text);
        refused(
            world
                .run_loop(
                    world.path(),
                    &[
                        "receipt",
                        "verify",
                        receipt.to_str().unwrap(),
                        "--key",
                        key.to_str().unwrap(),
                    ],
                )
                .run(),
        );
    }
}

const FILES: &[&str] = &["ledger.jsonl", "changes.json", "receipt.json", "authority.json"];
const COMMANDS: &[&[&str]] = &[
    &["show"],
    &["audit"],
    &["diff"],
    &["diff", "--stat", "--json"],
    &["apply"],
    &["undo"],
    &["discard"],
    &["receipt", "show"],
    &["runs"],
];

fn damaged_files_of_a_run() {
    let damages: &[&[u8]] =
        &[b"", b"\0", b"{}", b"null\n", b"{\"schema\":999}", b"\xff\xfe", &[b'['; 10_000]];
    for damage in damages {
        for file in FILES {
            let world = World::new();
            let project = changed(&world);
            std::fs::write(world.runs()[0].join(file), damage).unwrap();
            for command in COMMANDS {
                world.run_loop(&project, command).run().expect_no_panic();
            }
            // Nothing whose evidence was damaged got applied.
            assert!(!project.has("n.txt") || *file == "authority.json", "{file} was damaged");
            world
                .exec_with(&project, &["--quiet"], &["echo", "next"])
                .run()
                .expect_code(0)
                .expect_out("next");
        }
    }
}

fn files_of_a_run_replaced_by_something_else() {
    for file in FILES {
        let world = World::new();
        let project = changed(&world);
        let path = world.runs()[0].join(file);
        let path = path.to_str().unwrap();
        let replacements = [
            ("nothing", vec!["true"]),
            ("a link", vec!["ln", "-s", "/etc/passwd", path]),
            ("a directory", vec!["mkdir", path]),
            ("a pipe", vec!["mkfifo", path]),
        ];
        for (what, replacement) in replacements {
            world.outside(world.path(), &["rm", "-rf", path]).run().expect_code(0);
            world.outside(world.path(), &replacement).run().expect_code(0);
            for command in COMMANDS {
                world.run_loop(&project, command).run().expect_no_panic();
            }
            assert!(!project.has("n.txt"), "{file} was replaced by {what}, and applied");
        }
    }
}

fn strangers_in_the_directory_of_runs() {
    let world = World::new();
    let project = changed(&world);
    world.write("loop-home/run/notes.txt", "hello");
    std::fs::create_dir(world.loop_home().join("run/261129-aaaaaa")).unwrap();
    std::fs::create_dir(world.loop_home().join("run/not-a-run")).unwrap();
    let elsewhere = world.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, world.loop_home().join("run/261129-bbbbbb")).unwrap();
    world.run_loop(&project, &["runs"]).run().expect_code(0);
    world.run_loop(&project, &["diff"]).run().expect_code(0);
    world
        .exec_with(&project, &["--quiet"], &["echo", "next"])
        .run()
        .expect_code(0)
        .expect_out("next");
    refused(world.run_loop(&project, &["show", "261129-bbbbbb"]).run());
    refused(world.run_loop(&project, &["discard", "261129-bbbbbb"]).run());
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
}

fn a_home_of_loop_that_is_a_file() {
    let world = World::new();
    let project = world.repository("project");
    let file = world.write("not-a-directory", "");
    for variable in ["LOOP_HOME", "XDG_CONFIG_HOME"] {
        let ran = world.exec(&project, &["echo", "ran"]).env(variable, &file).run();
        refused(ran).expect_code(125).expect_out("").expect_err("not-a-directory");
    }
    for variable in ["LOOP_HOME", "XDG_CONFIG_HOME"] {
        let ran = world
            .exec(&project, &["echo", "ran"])
            .env(variable, "relative/path")
            .run()
            .expect_no_panic();
        assert!(ran.code() == Some(125) || ran.code() == Some(0), "{ran}");
    }
}

fn a_home_that_is_not_set() {
    let world = World::new();
    let project = world.repository("project");
    let ran = world.exec(&project, &["echo", "ran"]).without_env("HOME").run().expect_no_panic();
    assert!(matches!(ran.code(), Some(0 | 125)), "{ran}");
    let ran = world
        .exec(&project, &["echo", "ran"])
        .without_env("HOME")
        .without_env("LOOP_HOME")
        .without_env("XDG_CONFIG_HOME")
        .run();
    refused(ran).expect_code(125).expect_err("HOME");
}

fn a_search_path_that_is_not_set() {
    let world = World::new();
    let project = world.repository("project");
    for path in ["", "/no/such/directory", ".:relative::"] {
        world
            .exec(&project, &["/bin/echo", "ran"])
            .env("PATH", path)
            .run()
            .expect_code(0)
            .expect_out("ran");
    }
    world
        .exec(&project, &["/bin/echo", "ran"])
        .without_env("PATH")
        .run()
        .expect_code(0)
        .expect_out("ran");
}

fn standard_streams_that_are_closed() {
    let world = World::new();
    let project = world.repository("project");
    let exec = world.exec(&project, &["true"]).into_command();
    let program = exec.get_program().to_str().unwrap();
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let script = format!("'{program}' exec -- sh -c 'echo ran > ran.txt' {closed}");
        let ran = world.outside(&project, &["sh", "-c", &script]).run().expect_no_panic();
        assert!(matches!(ran.code(), Some(0 | 125)), "{closed}\n{ran}");
    }
    assert_eq!(project.status(), "");
}
