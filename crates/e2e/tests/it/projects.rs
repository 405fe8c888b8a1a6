//! Ordinary work on small real projects, with the default profile and no network.

use testkit::{World, need};

crate::tests![
    cargo_tests,
    npm_tests,
    pytest_tests,
    make_builds,
    git_works_whole,
    git_need_not_read_what_did_not_change,
    a_linked_worktree_works,
    python_makes_an_environment,
    a_project_that_holds_a_mount_is_refused_by_name,
    a_toolchain_that_holds_a_mount_is_shown_and_not_written,
];

fn cargo_tests() {
    need("cargo");
    let world = World::with_real_home();
    let project = world.repository("adder");
    project.write(
        "Cargo.toml",
        "[package]\nname = \"adder\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    project.write("src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 { a + b }\n\n#[test]\nfn adds() { assert_eq!(add(2, 2), 4); }\n#[test]\nfn fails() { assert_eq!(add(2, 2), 5); }\n");
    let ran = world.exec(&project, &["cargo", "test", "--offline"]).run().expect_code(101);
    assert!(
        ran.out().contains("test adds ... ok") && ran.out().contains("test fails ... FAILED"),
        "{ran}"
    );
    assert!(!project.has("target"));
    project.write("src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 { a + b }\n\n#[test]\nfn adds() { assert_eq!(add(2, 2), 4); }\n");
    world.exec(&project, &["cargo", "test", "--offline"]).run().expect_code(0);
}

fn npm_tests() {
    need("npm");
    let world = World::with_real_home();
    let project = world.repository("web");
    project.write(
        "package.json",
        r#"{"name": "web", "version": "1.0.0", "scripts": {"test": "node --test"}}"#,
    );
    project.write("add.test.js", "const test = require('node:test'); const assert = require('node:assert');\ntest('adds', () => assert.strictEqual(1 + 1, 2));\n");
    let ran = world.exec(&project, &["npm", "test"]).run().expect_code(0);
    assert!(ran.out().contains("pass 1"), "{ran}");
}

fn pytest_tests() {
    need("pytest-3");
    let world = World::with_real_home();
    let project = world.repository("py");
    project.write(
        "test_add.py",
        "def test_adds():\n    assert 1 + 1 == 2\n\ndef test_fails():\n    assert 1 + 1 == 3\n",
    );
    let ran = world.exec(&project, &["pytest-3", "-q"]).run().expect_code(1);
    assert!(ran.out().contains("1 failed, 1 passed"), "{ran}");
}

fn make_builds() {
    need("make");
    need("gcc");
    let world = World::new();
    let project = world.repository("c");
    project.write("hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n");
    project.write("Makefile", "hello: hello.c\n\tgcc -O2 -o $@ $<\ncheck: hello\n\t./hello\n");
    world
        .exec_with(&project, &["--quiet"], &["make", "-s", "check"])
        .run()
        .expect_code(0)
        .expect_out("hello");
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    world.outside(&project, &["./hello"]).run().expect_code(0).expect_out("hello");
}

fn git_works_whole() {
    let world = World::new();
    let project = world.repository("project");
    let script = "set -e; echo a > a.txt; git add a.txt; git commit -q -m A; git switch -q -c side; echo b > b.txt; git add .; git commit -q -m B; \
        echo c > c.txt; git stash -q -u; git switch -q main; git merge -q --no-edit side >/dev/null; git stash pop -q >/dev/null; git rebase -q HEAD~1 --autostash >/dev/null; git log --format=%s; git status --short";
    let ran = world.exec(&project, &["sh", "-c", script]).run().expect_code(0);
    assert_eq!(ran.out(), "B\nA\nFirst\n?? c.txt", "{ran}");
    assert_eq!(project.git(&["log", "--all", "--format=%s"]), "First");
}

/// What differs from the index as far as Git can see without reading: nothing, whoever the user is
/// inside.
fn git_need_not_read_what_did_not_change() {
    let world = World::new();
    let project = world.repository("project");
    for number in 0..20 {
        project.write(format!("f{number}.txt"), "same\n");
    }
    project.commit("many");
    project.status();
    world.exec(&project, &["git", "diff-files", "--name-only"]).run().expect_code(0).expect_out("");
}

fn a_linked_worktree_works() {
    let world = World::new();
    let project = world.repository("main");
    project.git(&["worktree", "add", "-q", "../linked"]);
    let linked = world.path().join("linked");
    let ran = world.exec(&linked, &["sh", "-c", "git status --short && git log --format=%s && echo x > x && git add x && git commit -q -m X && git log -1 --format=%s"]).run();
    ran.expect_code(0).expect_out("First\nX");
    assert_eq!(project.git(&["log", "--all", "--format=%s"]), "First");
}

fn python_makes_an_environment() {
    need("python3");
    let world = World::with_real_home();
    let project = world.repository("py");
    let script = "/usr/bin/python3 -m venv --without-pip env && ./env/bin/python -c 'print(6 * 7)' && test -L env/bin/python3 && echo link";
    world.exec(&project, &["sh", "-c", script]).run().expect_code(0).expect_out("42\nlink");
}

/// What the command of `line` finds in a private view in which `target` is a mount of its own.
fn with_mount(world: &World, target: &str, directory: &str, line: &[&str]) -> testkit::Ran {
    let source = world.directory("elsewhere");
    let mount = format!("mount --bind {} {target} && exec \"$@\"", source.display());
    let private = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount.as_str(), "sh"];
    let launch = world.exec(world.path().join(directory), line);
    launch.through(&private).run().expect_no_panic()
}

fn a_project_that_holds_a_mount_is_refused_by_name() {
    let world = World::new();
    let target = world.directory("project/target");
    let ran = with_mount(&world, target.to_str().unwrap(), "project", &["true"]);
    let told = format!("project holds a mount, {}", target.display());
    ran.expect_code(125).expect_err(&told);
    // Beside the project it is nobody's business.
    let beside = world.directory("beside");
    with_mount(&world, beside.to_str().unwrap(), "project", &["true"]).expect_code(0);
}

fn a_toolchain_that_holds_a_mount_is_shown_and_not_written() {
    let world = World::new();
    world.directory("project");
    world.write("home/.cargo/env", "it is there\n");
    let registry = world.directory("home/.cargo/registry");
    world.write("elsewhere/crate", "mounted\n");
    let line = ["sh", "-c", "cat ~/.cargo/env ~/.cargo/registry/crate; touch ~/.cargo/x"];
    let ran = with_mount(&world, registry.to_str().unwrap(), "project", &line);
    assert_eq!(ran.out(), "it is there\nmounted", "{ran}");
    assert_ne!(ran.code(), Some(0), "{ran}");
    assert!(!world.home().join(".cargo/x").exists());
}
