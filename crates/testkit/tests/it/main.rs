//! The helpers do what they say, and notice what they are there to notice.
#![cfg(test)]

mod model_server;
mod peers;

use testkit::{Remains, Terminal, World, mounts_under, on_small_disk, wait_until};

#[test]
fn a_program_gets_its_input_and_nothing_of_our_environment() {
    let world = World::new();
    let ran = world
        .outside(world.path(), &["sh", "-c", "cat; env | cut -d= -f1 | sort | tr '\\n' ' '"])
        .input("hello ")
        .run();
    let out = ran.expect_code(0).out();
    assert!(out.starts_with("hello "), "{out}");
    assert!(!out.contains("CARGO"), "{out}");
}

#[test]
fn a_repository_has_a_commit_and_a_clean_status() {
    let world = World::new();
    let repository = world.repository("project");
    assert_eq!(repository.git(&["log", "--format=%s %an"]), "First Ada Lovelace");
    assert_eq!(repository.status(), "");
    repository.write("src/a.txt", "a");
    assert_eq!(repository.status(), "?? src/a.txt");
}

#[test]
fn an_orphan_is_noticed_and_its_end_too() {
    let world = World::new();
    let remains = Remains::watch();
    world
        .outside(world.path(), &["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 <&- &"])
        .run()
        .expect_code(0);
    let find = || remains.processes().into_iter().find(|(_, name)| name == "sleep 1000");
    wait_until("the orphan sleeps", || find().is_some());
    let (sleeper, _) = find().unwrap();
    let sleeper = rustix::process::Pid::from_raw(sleeper).unwrap();
    rustix::process::kill_process(sleeper, rustix::process::Signal::KILL).unwrap();
    remains.expect_none();
}

#[test]
fn a_terminal_has_job_control_and_a_size() {
    let world = World::new();
    let mut terminal =
        Terminal::start(&world.outside(world.path(), &["bash", "--norc", "-i"]).into_command());
    terminal.send("stty size\r");
    terminal.expect("24 80");
    terminal.resize(30, 100);
    terminal.send("stty size\r");
    terminal.expect("30 100");
    terminal.send("sh -c 'echo up; read line'\r");
    terminal.expect("up\r\n");
    terminal.send("\x1a");
    terminal.expect("Stopped");
    terminal.send("kill %1; exit 7\r");
    terminal.send("exit 7\r");
    assert_eq!(terminal.wait().code(), Some(7));
}

#[test]
fn a_small_disk_gets_full_and_is_gone_afterwards() {
    let world = World::new();
    let disk = world.directory("disk");
    let launcher = on_small_disk(&disk, "64k");
    let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
    let fill =
        world.outside(world.path(), &["dd", "if=/dev/zero", "of=disk/full", "bs=1M", "count=1"]);
    fill.through(&launcher).run().expect_code(1).expect_err("No space left");
    assert_eq!(mounts_under(&disk), Vec::<String>::new());
}
