//! Real sandboxes on the real kernel, as root and as an ordinary user.
//!
//! No harness: this file is also the confining program, which must start without threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod sandbox;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::path::Path;

use confine::door::{Knock, Loopback, Opened};
use confine::plan::{Plan, Step, Watch};
use confine::protocol::{Ending, Report, Stage, Terminal, WatchedLimit};
use confine::report::Facility;
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::event::{PollFd, PollFlags, Timespec};
use sandbox::{Running, base_plan, read_all};

fn main() {
    if confine::is_confine_process() {
        confine::main();
    }
    let tests: &[(&str, fn())] = &[
        ("a_command_has_its_output_and_exit_code", a_command_has_its_output_and_exit_code),
        ("a_signal_is_reported_as_one", a_signal_is_reported_as_one),
        ("what_is_missing_is_named", what_is_missing_is_named),
        ("what_can_not_be_mounted_is_named", what_can_not_be_mounted_is_named),
        ("forbidden_things_were_tried", forbidden_things_were_tried),
        ("nothing_is_inherited", nothing_is_inherited),
        ("the_user_is_not_root", the_user_is_not_root),
        ("init_can_not_be_looked_into", init_can_not_be_looked_into),
        ("overlay_keeps_the_base", overlay_keeps_the_base),
        ("a_terminal_has_job_control", a_terminal_has_job_control),
        ("several_commands_share_a_sandbox", several_commands_share_a_sandbox),
        ("only_published_ports_are_knocked_at", only_published_ports_are_knocked_at),
        ("who_hangs_up_at_the_door_stops_nothing", who_hangs_up_at_the_door_stops_nothing),
        ("closing_the_socket_ends_everything", closing_the_socket_ends_everything),
        ("too_many_processes_end_the_sandbox", too_many_processes_end_the_sandbox),
        ("too_much_memory_ends_the_sandbox", too_much_memory_ends_the_sandbox),
        ("memory_that_nobody_maps_counts", memory_that_nobody_maps_counts),
        (
            "a_socket_in_a_shown_directory_leads_nowhere",
            a_socket_in_a_shown_directory_leads_nowhere,
        ),
        ("a_descriptor_gives_no_more_than_it_gave", a_descriptor_gives_no_more_than_it_gave),
        ("system_calls_answer_as_listed", system_calls_answer_as_listed),
    ];
    let trials =
        tests.iter().map(|&(name, test)| Trial::test(name, move || passed(test))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// A test fails by panicking.
#[allow(clippy::unnecessary_wraps, reason = "the form of a trial")]
fn passed(test: fn()) -> Result<(), Failed> {
    test();
    Ok(())
}

fn shell(script: &str) -> (String, Ending) {
    Running::start(base_plan()).shell(script)
}

fn a_command_has_its_output_and_exit_code() {
    assert_eq!(shell("echo hello; exit 3"), ("hello\n".into(), Ending::Exited(3)));
}

fn a_signal_is_reported_as_one() {
    assert_eq!(shell("kill -TERM $$").1, Ending::Killed(15));
}

fn what_is_missing_is_named() {
    let running = Running::start(base_plan());
    for (program, directory, during, errno) in [
        ("no-such-program", "/", Stage::Execute, libc::ENOENT),
        ("/etc/passwd", "/", Stage::Execute, libc::EACCES),
        ("true", "/no/such/directory", Stage::Directory, libc::ENOENT),
    ] {
        running.order(&[program], directory, None, &[]);
        let (report, _) = running.next();
        assert_eq!(report, Report::NotStarted { command: 1, during, errno }, "{program}");
    }
    let (output, _) = running.shell("echo still here");
    assert_eq!(output, "still here\n");
}

fn what_can_not_be_mounted_is_named() {
    let mut plan = base_plan();
    plan.steps.push(Step::Bind {
        from: "/no/such/place".into(),
        at: "/x".into(),
        access: confine::plan::BindAccess::Read,
    });
    let failure = Running::try_start(plan).unwrap_err();
    assert_eq!(failure.facility, Facility::Mounts);
    assert!(failure.action.contains("/no/such/place"), "{failure}");
}

fn forbidden_things_were_tried() {
    let running = Running::start(base_plan());
    let tried: Vec<_> = running.enforcement.proofs.iter().map(|proof| &proof.tried).collect();
    assert!(tried.len() >= 9, "{tried:?}");
    assert!(running.enforcement.landlock_abi >= 2);
    assert_eq!(running.enforcement.filter.len(), 64);
}

fn nothing_is_inherited() {
    let (output, _) =
        shell("ls /proc/self/fd | tr '\\n' ' '; env | cut -d= -f1 | sort | tr '\\n' ' '");
    // 3 is the descriptor with which ls reads the directory; PWD is the shell's own.
    assert_eq!(output, "0 1 2 3 PATH PWD ");
}

fn the_user_is_not_root() {
    let (output, _) =
        shell("id -u; grep -E '^(CapPrm|CapBnd|NoNewPrivs)' /proc/self/status | tr -d '\\t'");
    let lines: Vec<_> = output.lines().collect();
    assert_ne!(lines[0], "0");
    assert_eq!(lines[1..], ["CapPrm:0000000000000000", "CapBnd:0000000000000000", "NoNewPrivs:1"]);
}

fn init_can_not_be_looked_into() {
    let (output, _) = shell(
        "for f in root cwd exe fd/0 mem environ; do readlink /proc/1/$f || cat /proc/1/$f; done 2>/dev/null; \
         kill -9 1; echo alive",
    );
    assert_eq!(output, "alive\n");
}

fn overlay_keeps_the_base() {
    let base = tempfile::tempdir().unwrap();
    let (lower, upper, work) =
        (base.path().join("a,b:c\\d"), base.path().join("upper"), base.path().join("work"));
    for directory in [&lower, &upper, &work] {
        std::fs::create_dir(directory).unwrap();
    }
    std::fs::write(lower.join("file"), "before").unwrap();
    let mut plan = base_plan();
    plan.steps.push(Step::Overlay {
        lower: lower.clone(),
        upper: upper.clone(),
        work,
        at: "/w".into(),
    });
    plan.rights.write.push("/w".into());
    let (output, _) =
        Running::start(plan).shell("echo after > /w/file; cat /w/file; echo new > /w/new");
    assert_eq!(output, "after\n");
    assert_eq!(std::fs::read_to_string(lower.join("file")).unwrap(), "before");
    assert!(!lower.join("new").exists());
    assert_eq!(std::fs::read_to_string(upper.join("new")).unwrap(), "new\n");
}

fn a_terminal_has_job_control() {
    let running = Running::start(base_plan());
    let terminal = Terminal { rows: 33, columns: 99, streams: [true; 3] };
    running.order(
        &["bash", "--norc", "-ic", "stty size; tty; sleep 100 & kill %1; wait; echo done"],
        "/",
        Some(terminal),
        &[],
    );
    let (report, descriptors) = running.next();
    assert_eq!(report, Report::Started { command: 1 });
    let output = read_all(&descriptors[0]);
    assert!(output.contains("33 99\r\n/dev/pts/0\r\n"), "{output}");
    assert!(output.contains("done"), "{output}");
    assert!(!output.contains("no job control"), "{output}");
}

fn several_commands_share_a_sandbox() {
    let running = Running::start(base_plan());
    assert_eq!(running.shell("echo kept > /tmp/x; cat /tmp/x").0, "kept\n");
    assert_eq!(
        running.shell("cat /tmp/x; mount -t tmpfs x /tmp 2>/dev/null || echo refused").0,
        "kept\nrefused\n"
    );
}

/// Listens inside at two ports, says so, and answers what connects to the first.
const LISTENING: &str = "import socket\n\
    a = socket.create_server(('127.0.0.1', 3000)); b = socket.create_server(('127.0.0.1', 3001))\n\
    print('listening', flush=True)\n\
    c, _ = a.accept(); c.sendall(b'from inside: ' + c.recv(100)); c.close()";

fn only_published_ports_are_knocked_at() {
    let plan = Plan { published: vec![3000, 3002], ..base_plan() };
    let running = Running::start(plan);
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let streams = [null().as_fd().try_clone_to_owned().unwrap(), writer];
    let [input, output] = streams.each_ref().map(AsFd::as_fd);
    running.order(&["/usr/bin/python3", "-c", LISTENING], "/", None, &[input, output, output]);
    drop(streams);
    assert!(matches!(running.next().0, Report::Started { .. }));
    let mut line = [0_u8; 10];
    std::fs::File::from(reader.try_clone().unwrap()).read_exact(&mut line).unwrap();

    let knock = |port, at| {
        running.door.send(&Knock { port, at }, &[]).unwrap();
        let (Opened { errno }, sockets) = running.door.receive().unwrap();
        let socket = sockets.into_iter().next().map(TcpStream::from);
        assert_eq!(errno.is_none(), socket.is_some());
        let connected = |socket: TcpStream| {
            let mut writable = [PollFd::new(&socket, PollFlags::OUT)];
            rustix::event::poll(&mut writable, Some(&PATIENCE)).unwrap();
            match socket.take_error().unwrap() {
                Some(error) => Err(error.raw_os_error().unwrap()),
                None => Ok(socket),
            }
        };
        errno.map_or_else(|| connected(socket.unwrap()), Err)
    };
    let mut client = knock(3000, Loopback::V4).unwrap();
    client.set_nonblocking(false).unwrap();
    client.write_all(b"hello").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "from inside: hello");
    // One that listens and is not published, one that is published and does not listen, and the
    // other address.
    assert_eq!(knock(3001, Loopback::V4).unwrap_err(), libc::EACCES);
    assert_eq!(knock(3002, Loopback::V4).unwrap_err(), libc::ECONNREFUSED);
    assert_eq!(knock(3000, Loopback::V6).unwrap_err(), libc::ECONNREFUSED);
    assert_eq!(read_all(&reader), "");
}

fn who_hangs_up_at_the_door_stops_nothing() {
    let running = Running::start(Plan { published: vec![3000], ..base_plan() });
    rustix::net::shutdown(&running.door, rustix::net::Shutdown::Both).unwrap();
    assert_eq!(running.shell("echo still here").0, "still here\n");
    rustix::io::write(&running.door, b"x").unwrap_err();
    assert_eq!(running.shell("echo still here").0, "still here\n");
}

fn closing_the_socket_ends_everything() {
    let running = Running::start(base_plan());
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let script = "setsid sh -c 'trap \"\" TERM HUP; echo started; sleep 1000' & wait";
    running.order(
        &["sh", "-c", script],
        "/",
        None,
        &[null().as_fd(), writer.as_fd(), writer.as_fd()],
    );
    drop(writer);
    assert!(matches!(running.next().0, Report::Started { .. }));
    let mut line = [0_u8; 8];
    assert_eq!(rustix::io::read(&reader, &mut line).unwrap(), 8);
    drop(running);
    // Every writer is gone, so the pipe is at its end.
    assert_eq!(read_all(&reader), "");
}

/// A connection inside that takes longer does not come.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

fn null() -> std::fs::File {
    std::fs::File::open("/dev/null").unwrap()
}

fn too_many_processes_end_the_sandbox() {
    let plan = Plan { watch: Watch { processes: Some(40), ..Watch::default() }, ..base_plan() };
    let running = Running::start(plan);
    // Bounded: at most 200 processes of at most 20 seconds.
    let script = "i=0; while [ $i -lt 200 ]; do sleep 20 & i=$((i+1)); done; wait";
    running.order(&["sh", "-c", script], "/", None, &[]);
    assert!(matches!(running.next().0, Report::Started { .. }));
    assert_eq!(running.next_but_endings(), Report::LimitReached(WatchedLimit::Processes));
}

fn too_much_memory_ends_the_sandbox() {
    let plan = Plan { watch: Watch { memory: Some(64 << 20), ..Watch::default() }, ..base_plan() };
    let running = Running::start(plan);
    // Bounded: 256 MiB for at most 20 seconds.
    let script = "head -c 268435456 /dev/zero | tail -c 268435456 | sleep 20";
    running.order(&["sh", "-c", script], "/", None, &[]);
    assert!(matches!(running.next().0, Report::Started { .. }));
    assert_eq!(running.next_but_endings(), Report::LimitReached(WatchedLimit::Memory));
}

fn memory_that_nobody_maps_counts() {
    let plan = Plan { watch: Watch { memory: Some(64 << 20), ..Watch::default() }, ..base_plan() };
    let running = Running::start(plan);
    // Bounded: 128 MiB for at most 20 seconds.
    let script = "import os, time\nfd = os.memfd_create('x')\nfor _ in range(128): os.write(fd, b'x' * 1048576)\ntime.sleep(20)";
    running.order(&["/usr/bin/python3", "-c", script], "/", None, &[]);
    assert!(matches!(running.next().0, Report::Started { .. }));
    assert_eq!(running.next_but_endings(), Report::LimitReached(WatchedLimit::Memory));
}

fn a_socket_in_a_shown_directory_leads_nowhere() {
    let place = tempfile::tempdir().unwrap();
    let (shown, socket) = (place.path().join("shown"), place.path().join("shown/socket"));
    std::fs::create_dir(&shown).unwrap();
    std::fs::write(shown.join("file"), "kept").unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::os::unix::net::UnixStream::connect(&socket).expect("it can be reached outside");
    let connect = "import socket, sys\ntry: socket.socket(socket.AF_UNIX).connect('/shown/socket')\n\
                   except OSError as e: print(e.strerror)\nprint(open('/shown/file').read())\n\
                   try: open('/shown/file', 'w')\nexcept OSError as e: print(e.strerror)";
    let mut plan = base_plan();
    plan.steps.push(Step::Show { from: shown.clone(), at: "/shown".into() });
    let (output, _) = Running::start(plan).run(&["/usr/bin/python3", "-c", connect]);
    assert_eq!(output, "Connection refused\nkept\nRead-only file system\n");
    let mut plan = base_plan();
    plan.steps.push(Step::Show { from: socket, at: "/socket".into() });
    let failure = Running::try_start(plan).unwrap_err();
    assert!(failure.answer.contains("neither a file nor a directory"), "{failure}");
}

/// A file outside the view, reached past it through a magic link: only Landlock stands there.
fn a_descriptor_gives_no_more_than_it_gave() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "kept").unwrap();
    let given = std::fs::File::open(file.path()).unwrap();
    let running = Running::start(base_plan());
    let script = "exec 2>&1; echo lost > /proc/self/fd/0; echo lost > /dev/stdin";
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let streams = [given.as_fd(), writer.as_fd(), writer.as_fd()];
    running.order(&["sh", "-c", script], "/", None, &streams);
    drop(writer);
    assert!(matches!(running.next().0, Report::Started { .. }));
    let output = read_all(&reader);
    assert_eq!(output.matches("Permission denied").count(), 2, "{output}");
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "kept");
}

/// The answers that the filter must give, asked for from Python through the C library.
fn system_calls_answer_as_listed() {
    let script = include_str!("calls.py");
    assert!(Path::new("/usr/bin/python3").exists(), "this test needs Debian's python3");
    let running = Running::start(base_plan());
    let (output, ending) = running.run(&["/usr/bin/python3", "-c", script]);
    assert_eq!(ending, Ending::Exited(0), "{output}");
    assert_eq!(output, "");
}
