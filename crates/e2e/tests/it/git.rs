//! Git: commits of a run become a branch, and git on the host obeys no repository.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use testkit::{Ran, Repository, World};

crate::tests![
    commits_become_a_branch_and_nothing_else_does,
    packed_commits_and_other_refs_become_a_branch,
    commits_with_flagged_paths_need_their_name,
    what_can_not_be_taken_is_refused_and_says_why,
    a_linked_worktree_gives_its_commits,
    a_submodule_gives_its_commits,
    git_on_the_host_obeys_no_repository,
    git_on_the_host_is_git,
    git_inside_does_not_wait_for_a_password,
];

fn inside(world: &World, project: &Repository<'_>, script: &str) -> Ran {
    let script = format!("set -e; {script}");
    world.exec_with(project, &["--quiet"], &["sh", "-c", &script]).run().expect_code(0)
}

fn branch(world: &World, project: &Repository<'_>, words: &[&str]) -> Ran {
    world.run_loop(project, &[&["branch"], words].concat()).run().expect_no_panic()
}

const COMMITS: &str = "echo one >> README.md; git commit -q -a -m One; echo two >> README.md; git commit -q -a -m Two";

fn commits_become_a_branch_and_nothing_else_does() {
    let world = World::new();
    let project = world.repository("project");
    let head = project.git(&["rev-parse", "HEAD"]);
    let plant = "git config alias.x '!touch fired'; echo '#!/bin/sh' > .git/hooks/post-checkout; \
                 chmod 755 .git/hooks/post-checkout; echo '* diff=x' > .git/info/attributes";
    inside(&world, &project, &format!("{COMMITS}; {plant}"));
    let told = world.run_loop(&project, &["show"]).run().expect_code(0).out();
    assert!(told.contains("2 new commits") && told.contains("loop branch"), "{told}");

    let dry = branch(&world, &project, &["fix", "--dry-run"]).expect_code(0).out();
    assert!(dry.contains("would put 2 commits"), "{dry}");
    assert_eq!(project.git(&["branch", "--list", "fix"]).trim(), "");
    let out = branch(&world, &project, &["fix"]).expect_code(0).out();
    assert!(out.contains("Two") && out.contains("README.md") && out.contains("git log"), "{out}");

    assert_eq!(project.git(&["log", "-2", "--format=%s", "fix"]).trim(), "Two\nOne");
    assert_eq!(project.git(&["rev-parse", "fix~2"]), head);
    assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(project.status(), "");
    project.git(&["fsck", "--strict"]);
    assert!(!project.has(".git/hooks/post-checkout") && !project.has(".git/info/attributes"));
    assert!(!project.read(".git/config").contains("alias"));
    assert!(project.git(&["reflog", "fix"]).contains("loop branch"));

    inside(&world, &project, "echo three > three; git add three; git commit -q -m Three");
    branch(&world, &project, &["fix"]).expect_code(1).expect_err("already");
    let before = project.git(&["rev-parse", "fix"]);
    let json = branch(&world, &project, &["fix", "--force", "--json"]).expect_code(0).json();
    assert_eq!(json["before"].as_str().unwrap(), before.trim());
    assert_eq!(json["commits"][0]["subject"], "Three");
    branch(&world, &project, &["fix", "--force"]).expect_code(1).expect_err("has no commits");
}

fn packed_commits_and_other_refs_become_a_branch() {
    let world = World::new();
    let project = world.repository("project");
    inside(
        &world,
        &project,
        &format!("git checkout -q -b topic; {COMMITS}; git gc -q; git checkout -q -"),
    );
    branch(&world, &project, &["fix"]).expect_code(1).expect_err("has no commits");
    branch(&world, &project, &["fix", "--from", "topic"]).expect_code(0);
    assert_eq!(project.git(&["log", "-1", "--format=%s", "fix"]).trim(), "Two");
}

fn commits_with_flagged_paths_need_their_name() {
    let world = World::new();
    let project = world.repository("project");
    inside(&world, &project, "echo obey > AGENTS.md; git add .; git commit -q -m Agents");
    let refused = branch(&world, &project, &["fix"]).expect_code(126);
    refused.expect_err("--flagged AGENTS.md");
    assert_eq!(project.git(&["branch", "--list", "fix"]).trim(), "");
    branch(&world, &project, &["fix", "--flagged", "AGENTS.md"]).expect_code(0);
    let audit = world.run_loop(&project, &["audit"]).run().expect_code(0).out();
    assert!(audit.contains("branch.intent") && audit.contains("branch.result"), "{audit}");
}

fn what_can_not_be_taken_is_refused_and_says_why() {
    let world = World::new();
    let project = world.repository("project");
    inside(&world, &project, COMMITS);
    let current = project.git(&["branch", "--show-current"]);
    let checked_out = branch(&world, &project, &[current.trim(), "--force"]).expect_code(1);
    checked_out.expect_err("checked out");
    branch(&world, &project, &["a..b"]).expect_code(2);
    branch(&world, &project, &["fix", "--from", "nosuch"]).expect_code(127).expect_err("nosuch");
    world.run_loop(&project, &["discard"]).run().expect_code(0);
    branch(&world, &project, &["fix"]).expect_code(125).expect_err("discarded");
    inside(&world, &project, &format!("{COMMITS}; echo $(git rev-parse HEAD) > .git/info/grafts"));
    branch(&world, &project, &["fix"]).expect_code(125).expect_err("grafts");
    let direct = ["--quiet", "--mode", "direct"];
    let script = ["sh", "-c", "echo d >> README.md; git commit -q -a -m Direct"];
    world.exec_with(&project, &direct, &script).run().expect_code(0);
    branch(&world, &project, &["fix"]).expect_code(1).expect_err("in the project already");
}

fn a_linked_worktree_gives_its_commits() {
    let world = World::new();
    let main = world.repository("main");
    let linked = world.path().join("linked");
    main.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "linked"]);
    let run = |words: &[&str]| world.run_loop(&linked, words).run().expect_no_panic();
    run(&["exec", "--quiet", "--", "sh", "-c", COMMITS]).expect_code(0);
    run(&["branch", "fix"]).expect_code(0);
    assert_eq!(main.git(&["log", "-1", "--format=%s", "fix"]).trim(), "Two");
    assert_eq!(
        main.git(&["log", "-1", "--format=%s", "linked"]),
        main.git(&["log", "-1", "--format=%s"])
    );
}

fn a_submodule_gives_its_commits() {
    let world = World::new();
    let part = world.repository("part");
    let whole = world.repository("whole");
    let from = part.path().to_str().unwrap();
    whole.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", from, "part"]);
    whole.commit("Take part");
    let directory = whole.path().join("part");
    let run = |words: &[&str]| world.run_loop(&directory, words).run().expect_no_panic();
    run(&["exec", "--quiet", "--", "sh", "-c", COMMITS]).expect_code(0);
    run(&["branch", "fix"]).expect_code(0);
    let log = whole.git(&["-C", "part", "log", "-1", "--format=%s", "fix"]);
    assert_eq!(log.trim(), "Two");
}

fn git_on_the_host_obeys_no_repository() {
    let world = World::new();
    let project = world.repository("project");
    let fired = world.path().join("fired");
    let program = project.write(".git/run", format!("#!/bin/sh\ntouch '{}'\n", fired.display()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    for key in
        ["core.fsmonitor", "diff.external", "core.pager", "diff.x.textconv", "filter.x.clean"]
    {
        project.git(&["config", key, program]);
    }
    project.write(".gitattributes", "* diff=x filter=x\n");
    project.write("README.md", "changed\n");
    for words in [&["git", "status"][..], &["git", "diff"], &["git", "log", "-p"], &["git", "show"]]
    {
        world.run_loop(&project, words).run().expect_no_panic().expect_code(0);
    }
    assert!(!fired.exists());
}

fn git_on_the_host_is_git() {
    let world = World::new();
    let project = world.repository("project");
    let git = |words: &[&str]| {
        world.run_loop(&project, &[&["git"], words].concat()).run().expect_no_panic()
    };
    assert_eq!(
        git(&["log", "--format=%H"]).expect_code(0).out(),
        project.git(&["log", "--format=%H"])
    );
    git(&["rev-parse", "--verify", "-q", "nosuch"]).expect_code(1);
    git(&["diff", "--exit-code"]).expect_code(0);
    project.write("README.md", "changed\n");
    git(&["diff", "--exit-code"]).expect_code(1);
    git(&["log", "--nosuch"]).expect_code(128);
    git(&["commit", "-m", "x"]).expect_code(1).expect_err("only looks");
    git(&["--git-dir=x", "log"]).expect_code(1).expect_err("leads elsewhere");
    git(&[]).expect_code(2);
}

fn git_inside_does_not_wait_for_a_password() {
    let world = World::new();
    let project = world.repository("project");
    let script = "[ \"$GIT_TERMINAL_PROMPT\" = 0 ]; ! printf 'protocol=https\\nhost=x.example\\n' | git credential fill";
    inside(&world, &project, script);
}
