//! The change set: `loop diff`, `apply`, `discard`, `undo`.

use std::os::unix::fs::PermissionsExt;

use testkit::{Ran, Repository, World};

crate::tests![
    nothing_is_applied_before_it_is_asked_for,
    every_kind_of_change_is_carried_out,
    a_diff_is_a_patch,
    the_stat_names_every_path,
    chosen_paths_are_applied_alone,
    a_dry_run_writes_nothing,
    a_base_that_moved_refuses_the_whole,
    a_second_apply_is_refused,
    undo_restores_bytes_and_modes,
    undo_is_refused_after_an_edit,
    what_was_discarded_cannot_be_applied,
    flagged_paths_need_their_name,
    git_metadata_is_never_applied,
    special_files_are_never_applied,
    of_two_at_once_one_applies,
    an_altered_change_set_is_refused,
    a_swapped_directory_leads_nowhere,
    the_newest_run_of_this_project_is_meant,
    a_run_of_another_project_is_not_applied_here,
    a_run_without_changes_has_nothing_to_apply,
];

fn change(world: &World, project: &Repository<'_>, script: &str) {
    world.exec_with(project, &["--quiet"], &["sh", "-c", script]).run().expect_code(0);
}

fn apply(world: &World, project: &Repository<'_>, arguments: &[&str]) -> Ran {
    world.run_loop(project, &[&["apply"], arguments].concat()).run().expect_no_panic()
}

fn nothing_is_applied_before_it_is_asked_for() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "echo changed > README.md");
    world.run_loop(&project, &["diff"]).run().expect_code(0);
    assert_eq!(project.status(), "");
    apply(&world, &project, &[]).expect_code(0);
    assert_eq!(project.read("README.md"), "changed\n");
}

fn every_kind_of_change_is_carried_out() {
    let world = World::new();
    let project = world.repository("project");
    project.write("old.txt", "a file that will move, long enough to be known again\n".repeat(20));
    project.write("gone/deep/x", "x");
    project.write("tool.sh", "#!/bin/sh\n");
    project.write("becomes-dir", "file");
    project.write("becomes-file/x", "x");
    project.commit("Second");
    let script = "set -e; echo edit >> README.md; mv old.txt new.txt; rm -r gone; chmod 755 tool.sh; mkdir -p fresh/dir; echo n > fresh/dir/n; \
        ln -s fresh/dir/n link; head -c 100 /dev/zero > zero.bin; rm becomes-dir; mkdir becomes-dir; echo in > becomes-dir/in; rm -r becomes-file; echo flat > becomes-file; mkdir empty";
    change(&world, &project, script);
    apply(&world, &project, &[]).expect_code(0);
    assert_eq!(project.read("README.md"), "# A project\nedit\n");
    assert!(project.has("new.txt") && !project.has("old.txt") && !project.has("gone"));
    assert_eq!(
        project.path().join("tool.sh").metadata().unwrap().permissions().mode() & 0o777,
        0o755
    );
    assert_eq!(project.read("fresh/dir/n"), "n\n");
    assert_eq!(
        std::fs::read_link(project.path().join("link")).unwrap().to_str(),
        Some("fresh/dir/n")
    );
    assert_eq!(std::fs::read(project.path().join("zero.bin")).unwrap(), [0; 100]);
    assert_eq!(project.read("becomes-dir/in"), "in\n");
    assert_eq!(project.read("becomes-file"), "flat\n");
    assert!(project.path().join("empty").is_dir());
}

fn a_diff_is_a_patch() {
    let world = World::new();
    let project = world.repository("project");
    project.write("a/poem.txt", "one\ntwo\nthree\n");
    project.commit("Poem");
    change(
        &world,
        &project,
        "sed -i s/two/TWO/ a/poem.txt; printf 'no newline' > end.txt; rm README.md",
    );
    let patch = world.run_loop(&project, &["diff"]).run().expect_code(0).stdout;
    let file = world.write("change.patch", patch);
    project.git(&["apply", file.to_str().unwrap()]);
    assert_eq!(project.read("a/poem.txt"), "one\nTWO\nthree\n");
    assert_eq!(project.read("end.txt"), "no newline");
    assert!(!project.has("README.md"));
}

fn the_stat_names_every_path() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "echo more >> README.md; head -c 10 /dev/zero > z.bin");
    let out = world.run_loop(&project, &["diff", "--stat"]).run().expect_code(0).out();
    assert!(
        out.contains("README.md")
            && out.contains("+1 -0")
            && out.contains("z.bin")
            && out.contains("2 changes"),
        "{out}"
    );
    let json = world.run_loop(&project, &["diff", "--json"]).run().expect_code(0).json();
    assert_eq!(json["entries"].as_array().unwrap().len(), 2);
}

fn chosen_paths_are_applied_alone() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "mkdir src doc; echo s > src/s; echo d > doc/d");
    apply(&world, &project, &["src"]).expect_code(0);
    assert!(project.has("src/s") && !project.has("doc"));
}

fn a_dry_run_writes_nothing() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "echo n > n");
    let ran = apply(&world, &project, &["--dry-run"]).expect_code(0);
    assert!(ran.out().contains("would apply 1 change"), "{ran}");
    assert_eq!(project.status(), "");
    apply(&world, &project, &[]).expect_code(0);
}

fn a_base_that_moved_refuses_the_whole() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "echo theirs > README.md; echo n > n.txt");
    project.write("README.md", "mine\n");
    apply(&world, &project, &[]).expect_code(125).expect_err("README.md");
    assert_eq!(project.read("README.md"), "mine\n");
    assert!(!project.has("n.txt"));
}

fn a_second_apply_is_refused() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "echo n > n.txt");
    apply(&world, &project, &[]).expect_code(0);
    let ran = apply(&world, &project, &[]);
    assert_ne!(ran.code(), Some(0), "{ran}");
    assert!(ran.err().contains("applied"), "{ran}");
}

fn undo_restores_bytes_and_modes() {
    let world = World::new();
    let project = world.repository("project");
    let tool = project.write("tool.sh", "#!/bin/sh\necho before\n");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o750)).unwrap();
    project.write("doomed/x", "x");
    change(
        &world,
        &project,
        "echo after > tool.sh; chmod 644 tool.sh; rm -r doomed; mkdir -p new/dir; echo n > new/dir/n",
    );
    apply(&world, &project, &[]).expect_code(0);
    assert!(project.has("new/dir/n") && !project.has("doomed"));
    world.run_loop(&project, &["undo"]).run().expect_code(0);
    assert_eq!(project.read("tool.sh"), "#!/bin/sh\necho before\n");
    assert_eq!(tool.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(project.read("doomed/x"), "x");
    assert!(!project.has("new"));
}

fn undo_is_refused_after_an_edit() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "echo theirs > README.md; echo n > n.txt");
    apply(&world, &project, &[]).expect_code(0);
    project.write("README.md", "mine since\n");
    world.run_loop(&project, &["undo"]).run().expect_code(125).expect_err("README.md");
    assert_eq!(project.read("README.md"), "mine since\n");
    assert!(project.has("n.txt"), "an undo that is refused takes nothing back");
}

fn what_was_discarded_cannot_be_applied() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "echo n > n.txt");
    world.run_loop(&project, &["discard"]).run().expect_code(0);
    let ran = apply(&world, &project, &[]);
    assert_ne!(ran.code(), Some(0), "{ran}");
    assert!(ran.err().contains("discarded"), "{ran}");
    assert_eq!(project.status(), "");
}

fn flagged_paths_need_their_name() {
    let world = World::new();
    let project = world.repository("project");
    let script = "mkdir -p .claude .vscode .loop; echo '{}' > .claude/settings.json; echo '{}' > .vscode/tasks.json; echo x > .envrc; echo > .loop/config.toml; echo be evil > AGENTS.md; \
        ln -s /etc/passwd leaves; printf 'a\\342\\200\\256b\\n' > bidi.txt; echo plain > plain.txt; cp /bin/true suid; chmod u+s suid";
    change(&world, &project, script);
    let ran = apply(&world, &project, &[]).expect_code(0);
    assert_eq!(project.status(), "?? plain.txt", "{ran}");
    for held in [
        ".claude/settings.json",
        ".vscode/tasks.json",
        ".envrc",
        ".loop/config.toml",
        "AGENTS.md",
        "leaves",
        "bidi.txt",
        "suid",
    ] {
        assert!(ran.out().contains(held), "{held} is not shown as held\n{ran}");
    }
}

fn git_metadata_is_never_applied() {
    let world = World::new();
    let project = world.repository("project");
    let script = "printf '#!/bin/sh\\necho owned > owned\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config alias.x '!touch owned'; \
        mkdir -p vendor/sub/.git/hooks; echo evil > vendor/sub/.git/hooks/post-checkout; echo 'gitdir: /tmp/evil' > vendor/.git; git init -q nested; echo plain > plain.txt; git add plain.txt; git commit -q -m Inside";
    world.exec_with(&project, &["--quiet"], &["sh", "-c", script]).run();
    let flags = [
        "--flagged",
        ".git/hooks/pre-commit",
        "--flagged",
        "vendor/.git",
        "--flagged",
        "nested/.git/config",
    ];
    apply(&world, &project, &flags);
    apply(&world, &project, &[]);
    for path in [".git/hooks/pre-commit", "vendor/.git", "vendor/sub/.git", "nested/.git"] {
        assert!(!project.has(path), "{path} was applied");
    }
    assert!(!project.read(".git/config").contains("alias"));
    assert_eq!(project.git(&["log", "--format=%s"]), "First");
}

fn special_files_are_never_applied() {
    let world = World::new();
    let project = world.repository("project");
    change(
        &world,
        &project,
        "mkfifo pipe; /usr/bin/python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\"; echo plain > plain.txt",
    );
    let ran = apply(&world, &project, &["--flagged", "pipe", "--flagged", "socket"]);
    assert!(!project.has("pipe") && !project.has("socket"), "{ran}");
    apply(&world, &project, &[]);
    assert!(project.has("plain.txt"));
}

fn of_two_at_once_one_applies() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "for i in $(seq 500); do echo $i > f$i; done");
    let running = [0; 4].map(|_| world.run_loop(&project, &["apply"]).start());
    let won = running
        .into_iter()
        .map(|running| running.wait().expect_no_panic())
        .filter(|ran| ran.code() == Some(0))
        .count();
    assert_eq!(won, 1);
    assert!((1..=500).all(|i| project.read(format!("f{i}")) == format!("{i}\n")));
}

fn an_altered_change_set_is_refused() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "echo n > harmless.txt");
    let changes = world.runs()[0].join("changes.json");
    let text = std::fs::read_to_string(&changes).unwrap();
    std::fs::write(&changes, text.replace("harmless.txt", "harmfull.txt")).unwrap();
    apply(&world, &project, &[]).expect_code(125).expect_err("receipt");
    assert_eq!(project.status(), "");
}

fn a_swapped_directory_leads_nowhere() {
    let world = World::new();
    let project = world.repository("project");
    project.write("dir/keep.txt", "k");
    let outside = world.directory("elsewhere");
    change(&world, &project, "echo n > dir/n.txt");
    std::fs::rename(project.path().join("dir"), project.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(&outside, project.path().join("dir")).unwrap();
    apply(&world, &project, &[]).expect_code(125).expect_err("dir");
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
}

fn the_newest_run_of_this_project_is_meant() {
    let world = World::new();
    let (one, two) = (world.repository("one"), world.repository("two"));
    change(&world, &one, "echo first > f.txt");
    change(&world, &one, "echo second > f.txt");
    change(&world, &two, "echo other > f.txt");
    apply(&world, &one, &[]).expect_code(0);
    assert_eq!(one.read("f.txt"), "second\n");
    assert!(!two.has("f.txt"));
    let runs = world.run_loop(&one, &["runs", "--json"]).run().expect_code(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 2);
    let all = world.run_loop(&one, &["runs", "--all", "--json"]).run().expect_code(0).json();
    assert_eq!(all.as_array().unwrap().len(), 3);
}

fn a_run_of_another_project_is_not_applied_here() {
    let world = World::new();
    let (one, two) = (world.repository("one"), world.repository("two"));
    change(&world, &one, "echo n > n.txt");
    let id = world.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    let ran = apply(&world, &two, &[&id]);
    assert_ne!(ran.code(), Some(0), "{ran}");
    assert!(!two.has("n.txt") && !one.has("n.txt"));
}

fn a_run_without_changes_has_nothing_to_apply() {
    let world = World::new();
    let project = world.repository("project");
    change(&world, &project, "true");
    apply(&world, &project, &[]);
    assert_eq!(project.status(), "");
}
