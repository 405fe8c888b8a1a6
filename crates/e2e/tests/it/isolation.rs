//! What a command inside sees of the machine, and what it does not.

use std::net::TcpListener;

use testkit::{World, need};

crate::tests![
    the_home_is_not_there,
    the_project_is_not_changed,
    the_command_is_nobody_special,
    the_machines_directories_cannot_be_written,
    the_network_is_loopback_alone,
    a_listener_of_the_machine_is_out_of_reach,
    loopback_works_inside,
    no_descriptor_is_inherited,
    other_processes_are_not_seen,
    read_only_means_that_nothing_can_be_written,
    ordinary_places_can_be_written,
    loop_inside_loop_ends_cleanly,
    git_identity_is_carried_in,
];

fn the_home_is_not_there() {
    let world = World::new();
    let project = world.repository("project");
    world.write("home/.ssh/id_ed25519", "canary");
    world.write("home/.aws/credentials", "canary");
    world.write("home/.cargo/credentials.toml", "canary");
    world.write("home/notes.txt", "canary");
    let home = world.home().to_str().unwrap();
    let script = format!(
        "cat {home}/.ssh/id_ed25519 {home}/.aws/credentials {home}/.cargo/credentials.toml {home}/notes.txt; find {home} /home /root -size +0 '(' -name 'id_*' -o -name 'credentials*' -o -name notes.txt ')' 2>/dev/null"
    );
    let ran = world.exec(&project, &["sh", "-c", &script]).run();
    assert_eq!(ran.out(), "", "{ran}");
}

fn the_project_is_not_changed() {
    let world = World::new();
    let project = world.repository("project");
    let script = "echo x >> README.md; mkdir d; echo y > d/y; echo '#!/bin/sh' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.fsmonitor evil; rm -rf .git/refs";
    world.exec(&project, &["sh", "-c", script]).run().expect_code(0);
    assert_eq!(project.status(), "");
    assert!(!project.has(".git/hooks/pre-commit"));
    assert!(!project.read(".git/config").contains("fsmonitor"));
}

fn the_command_is_nobody_special() {
    let world = World::new();
    let project = world.repository("project");
    let script = "test $(id -u) != 0 && id -un && grep -E '^(CapEff|CapPrm|CapBnd|CapAmb):' /proc/self/status | cut -f2 | sort -u && grep NoNewPrivs /proc/self/status | cut -f2";
    let out = world.exec(&project, &["sh", "-c", script]).run().expect_code(0).out();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[1..], ["0000000000000000", "1"], "{out}");
}

fn the_machines_directories_cannot_be_written() {
    let world = World::new();
    let project = world.repository("project");
    for place in ["/usr/bin", "/etc", "/lib", "/proc/sys/kernel", "/sys", "/"] {
        let script = format!("touch {place}/loop-canary 2>/dev/null && echo written");
        let ran = world.exec(&project, &["sh", "-c", &script]).run();
        assert_eq!(ran.out(), "", "{place}\n{ran}");
        assert!(!std::path::Path::new(place).join("loop-canary").exists());
    }
}

fn the_network_is_loopback_alone() {
    need("ip");
    let world = World::new();
    let project = world.repository("project");
    let links = world.exec(&project, &["ip", "-o", "link"]).run().expect_code(0).out();
    assert_eq!(links.lines().count(), 1, "{links}");
    assert!(links.contains("LOOPBACK,UP"), "{links}");
    world.exec(&project, &["bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80"]).run().expect_code(1);
}

fn a_listener_of_the_machine_is_out_of_reach() {
    let world = World::new();
    let project = world.repository("project");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port());
    world.outside(&project, &["bash", "-c", &script]).run().expect_code(0);
    assert!(listener.accept().is_ok(), "the same line reaches it from outside");
    world.exec(&project, &["bash", "-c", &script]).run().expect_code(1);
    assert!(listener.accept().is_err());
}

fn loopback_works_inside() {
    need("python3");
    let world = World::new();
    let project = world.repository("project");
    let script = "import socket\ns = socket.create_server(('127.0.0.1', 0))\nc = socket.create_connection(s.getsockname())\na, _ = s.accept()\nc.sendall(b'hello')\nprint(a.recv(5).decode())\na, b = socket.socketpair()\na.sendall(b'pair')\nprint(b.recv(4).decode())";
    world
        .exec(&project, &["/usr/bin/python3", "-c", script])
        .run()
        .expect_code(0)
        .expect_out("hello\npair");
}

fn no_descriptor_is_inherited() {
    let world = World::new();
    let project = world.repository("project");
    let exec = world.exec_with(&project, &["--quiet"], &["ls", "/proc/self/fd"]).into_command();
    let program = exec.get_program().to_str().unwrap();
    let script = format!(
        "exec 7</etc/hostname 9>{}/leak; exec '{program}' exec --quiet -- ls /proc/self/fd",
        world.path().display()
    );
    let ran = world.outside(&project, &["bash", "-c", &script]).run().expect_code(0);
    // `ls` itself holds the directory that it lists.
    assert_eq!(ran.out().split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
}

fn other_processes_are_not_seen() {
    let world = World::new();
    let project = world.repository("project");
    let out = world
        .exec(&project, &["sh", "-c", "ls /proc | grep -c '^[0-9]'"])
        .run()
        .expect_code(0)
        .out();
    assert!(out.parse::<u32>().unwrap() <= 5, "{out}");
}

fn read_only_means_that_nothing_can_be_written() {
    let world = World::new();
    let project = world.repository("project");
    let flags = ["--mode", "read-only"];
    world
        .exec_with(&project, &flags, &["cat", "README.md"])
        .run()
        .expect_code(0)
        .expect_out("# A project");
    world
        .exec_with(&project, &flags, &["sh", "-c", "echo x > README.md"])
        .run()
        .expect_code(2)
        .expect_err("Read-only");
    world.exec_with(&project, &["--profile", "read-only"], &["touch", "new"]).run().expect_code(1);
    assert_eq!(project.status(), "");
}

fn ordinary_places_can_be_written() {
    let world = World::new();
    let project = world.repository("project");
    let name = world.path().file_name().unwrap().to_str().unwrap();
    let script = format!(
        "echo a > /tmp/{name}.a && echo b > ~/b && echo c > /dev/shm/{name}.c && echo d > /dev/null && head -c 4 /dev/urandom | wc -c && cat /tmp/{name}.a ~/b /dev/shm/{name}.c"
    );
    world.exec(&project, &["sh", "-c", &script]).run().expect_code(0).expect_out("4\na\nb\nc");
    for outside in [format!("/tmp/{name}.a"), format!("/dev/shm/{name}.c")] {
        assert!(!std::path::Path::new(&outside).exists(), "{outside} is outside, too");
    }
    assert!(!world.home().join("b").exists());
}

fn loop_inside_loop_ends_cleanly() {
    let world = World::new();
    let project = world.repository("project");
    let exec = world.exec(&project, &["true"]).into_command();
    std::fs::copy(exec.get_program(), project.path().join("loop-copy")).unwrap();
    let ran = world.exec(&project, &["./loop-copy", "exec", "--", "true"]).run().expect_no_panic();
    match ran.code() {
        Some(0) => {}
        _ => drop(ran.expect_code(125).expect_err("next")),
    }
}

fn git_identity_is_carried_in() {
    let world = World::new();
    let project = world.repository("project");
    let ran = world.exec(&project, &["git", "var", "GIT_AUTHOR_IDENT"]).run().expect_code(0);
    assert!(ran.out().starts_with("Ada Lovelace <ada@example.com>"), "{ran}");
}
