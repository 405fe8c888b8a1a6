//! An interactive person: terminal, job control, editors.

use testkit::{Repository, Terminal, World, need};

crate::tests![
    the_command_has_the_terminal,
    without_a_terminal_there_is_none,
    job_control_works,
    an_interrupt_key_reaches_the_foreground_job_only,
    the_window_changes_its_size_inside,
    the_terminal_is_as_before_afterwards,
    a_closed_window_ends_the_run,
    loop_itself_can_be_suspended_and_continued,
    vim_edits_a_file,
    end_of_input_is_seen,
];

fn start(world: &World, project: &Repository<'_>, line: &[&str]) -> Terminal {
    Terminal::start(&world.exec_with(project, &["--quiet"], line).into_command())
}

fn shell(world: &World, project: &Repository<'_>) -> Terminal {
    let mut terminal = start(world, project, &["bash", "--norc", "--noprofile", "-i"]);
    terminal.expect("$ ");
    terminal
}

fn the_command_has_the_terminal() {
    let world = World::new();
    let project = world.repository("project");
    let mut terminal = start(
        &world,
        &project,
        &[
            "sh",
            "-c",
            "test -t 0 && test -t 1 && test -t 2 && tty && stty size && exec 3<>/dev/tty && echo all",
        ],
    );
    terminal.expect("/dev/pts/");
    terminal.expect("24 80");
    terminal.expect("all");
    assert_eq!(terminal.wait().code(), Some(0));
}

fn without_a_terminal_there_is_none() {
    let world = World::new();
    let project = world.repository("project");
    let script = "test -t 0 || echo no; test -t 1 || echo no; (: </dev/tty) 2>/dev/null || echo no";
    world.exec(&project, &["sh", "-c", script]).run().expect_code(0).expect_out("no\nno\nno");
}

fn job_control_works() {
    let world = World::new();
    let project = world.repository("project");
    let mut terminal = shell(&world, &project);
    terminal.send("sh -c 'echo ready; read line; echo \"read $line\"'\r");
    terminal.expect("ready\r\n");
    terminal.send("\x1a");
    terminal.expect("Stopped");
    terminal.expect("$ ");
    terminal.send("jobs | sed s/Stopped/was-stopped/\r");
    terminal.expect("was-stopped  ");
    // What is typed before the shell is at its prompt again is no line of the job's.
    terminal.expect("$ ");
    terminal.send("fg\r");
    terminal.expect("sh -c");
    terminal.send("hello\r");
    terminal.expect("read hello");
    terminal.send("sleep 0.1 &\r");
    terminal.expect("[1] ");
    terminal.send("wait; echo wait-$?\r");
    terminal.expect("wait-0");
    terminal.send("exit 4\r");
    assert_eq!(terminal.wait().code(), Some(4));
}

fn an_interrupt_key_reaches_the_foreground_job_only() {
    let world = World::new();
    let project = world.repository("project");
    let mut terminal = shell(&world, &project);
    terminal.send("sh -c 'echo ready; read line'\r");
    terminal.expect("ready\r\n");
    terminal.send("\x03");
    // The terminal drops what is typed before the interrupt has been dealt with.
    terminal.expect("$ ");
    terminal.send("echo code-$?\r");
    terminal.expect("code-130");
    terminal.send("exit 0\r");
    assert_eq!(terminal.wait().code(), Some(0));
}

fn the_window_changes_its_size_inside() {
    let world = World::new();
    let project = world.repository("project");
    let mut terminal = start(
        &world,
        &project,
        &[
            "bash",
            "-c",
            "trap 'stty size' WINCH; trap 'exit 9' INT; echo ready; while :; do sleep 0.05; done",
        ],
    );
    terminal.expect("ready");
    terminal.resize(33, 121);
    terminal.expect("33 121");
    terminal.send("\x03");
    assert_eq!(terminal.wait().code(), Some(9));
}

fn the_terminal_is_as_before_afterwards() {
    let world = World::new();
    let project = world.repository("project");
    let exec = world
        .exec_with(&project, &["--quiet"], &["sh", "-c", "stty raw -echo; exit 0"])
        .into_command();
    let program = exec.get_program().to_str().unwrap();
    let script = format!(
        "before=$(stty -g); '{program}' exec --quiet -- sh -c 'stty raw -echo'; test \"$before\" = \"$(stty -g)\" && echo as-before"
    );
    let mut terminal =
        Terminal::start(&world.outside(&project, &["sh", "-c", &script]).into_command());
    terminal.expect("as-before");
    assert_eq!(terminal.wait().code(), Some(0));
}

fn a_closed_window_ends_the_run() {
    let world = World::new();
    let project = world.repository("project");
    let remains = testkit::Remains::watch();
    let mut terminal = start(&world, &project, &["sh", "-c", "echo ready; sleep 1000"]);
    terminal.expect("ready");
    let mut child = terminal.close();
    child.wait().unwrap();
    remains.expect_none();
}

fn loop_itself_can_be_suspended_and_continued() {
    let world = World::new();
    let project = world.repository("project");
    let exec = world.exec_with(&project, &["--quiet"], &["cat"]).into_command();
    let program = exec.get_program().to_str().unwrap();
    // The outer shell has job control; stopping the whole of Loop must not lose its terminal.
    let mut terminal = Terminal::start(
        &world.outside(&project, &["bash", "--norc", "--noprofile", "-i"]).into_command(),
    );
    terminal.send(&format!(
        "PS1='outer> '; '{program}' exec --quiet -- sh -c 'echo ready; read x; echo got $x'\r"
    ));
    terminal.expect("ready\r\n");
    terminal.send("kept\r");
    terminal.expect("got kept");
    terminal.expect("outer> ");
    terminal.send("exit 0\r");
    assert_eq!(terminal.wait().code(), Some(0));
}

fn vim_edits_a_file() {
    need("vim");
    let world = World::new();
    let project = world.repository("project");
    project.write("poem.txt", "one\ntwo\n");
    let mut terminal = start(&world, &project, &["vim", "-u", "NONE", "-N", "poem.txt"]);
    terminal.expect("two");
    terminal.send("Gothree");
    terminal.send("\x1b");
    terminal.send(":wq\r");
    assert_eq!(terminal.wait().code(), Some(0), "{}", terminal.screen());
    assert_eq!(project.read("poem.txt"), "one\ntwo\n");
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert_eq!(project.read("poem.txt"), "one\ntwo\nthree\n");
}

fn end_of_input_is_seen() {
    let world = World::new();
    let project = world.repository("project");
    let mut terminal = start(&world, &project, &["sh", "-c", "echo ready; cat; echo end"]);
    terminal.expect("ready\r\n");
    terminal.send("line\r");
    terminal.expect("line\r\nline\r\n");
    terminal.send("\x04");
    terminal.expect("end");
    assert_eq!(terminal.wait().code(), Some(0));
}
