//! What a rule asks about: at the terminal, from another shell, and by nobody.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Ran, Remains, Running, Terminal, World};

crate::tests![
    another_shell_lets_it_happen_once,
    an_answer_for_the_run_is_not_asked_for_again,
    a_denial_reaches_the_command_and_says_why,
    a_denial_is_one_for_the_whole_search_path,
    what_nobody_answers_is_denied_in_time,
    stopping_ends_the_run,
    an_answer_to_something_else_is_refused_and_recorded,
    the_run_cannot_reach_the_socket_where_it_is_answered,
    what_nobody_wants_any_more_does_not_wait,
    a_flood_is_capped_and_said_and_hides_nobody,
    a_run_that_cannot_ask_has_no_socket,
    a_key_at_the_terminal_answers,
    the_difference_is_shown_at_the_terminal,
    keys_typed_before_the_prompt_are_not_for_it,
    hostile_arguments_are_inert_at_the_terminal,
    a_prompt_holds_nothing_but_its_terminal,
    a_time_limit_ends_a_run_at_its_prompt,
    stopping_at_the_terminal_gives_it_back,
    a_prompt_before_the_command_has_started,
    a_warm_sandbox_asks_where_its_command_runs,
];

/// Longer than a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than a prompt ignores keys for.
const SETTLED: Duration = Duration::from_millis(500);

/// A rule that asks before `date` is run.
pub(crate) const ASK: &str = r#"
[[rule]]
id = "ask-before-date"
action = "exec"
program = "date"
verdict = "ask"
reason = "dates are seen by others"
"#;

/// A person whose every run asks before it runs `date`.
fn asking(settings: &str) -> World {
    let world = World::new();
    let path = world.loop_home().join("config.toml");
    world.write(path, format!("[approvals]\n{settings}\n{ASK}"));
    world.repository("project");
    world
}

fn project(world: &World) -> PathBuf {
    world.path().join("project")
}

fn start(world: &World, script: &str) -> Running {
    world.exec(project(world), &["sh", "-c", script]).start()
}

fn asks(world: &World) -> Vec<Value> {
    let told = world.run_loop(project(world), &["approvals", "--json"]).run().expect_code(0);
    told.json().as_array().unwrap().clone()
}

/// Waits until so many asks wait.
fn waiting(world: &World, number: usize) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let asks = asks(world);
        if asks.len() >= number {
            return asks;
        }
        assert!(began.elapsed() < PATIENCE, "{asks:?}");
        sleep(Duration::from_millis(20));
    }
}

fn id(ask: &Value) -> &str {
    ask["id"].as_str().unwrap()
}

fn answer(world: &World, words: &[&str]) -> Ran {
    world.run_loop(project(world), words).run()
}

fn run_directory(world: &World) -> PathBuf {
    world.runs().remove(0)
}

/// The records of the one run, of a kind.
fn records(world: &World, kind: &str) -> Vec<Value> {
    let ledger = std::fs::read_to_string(run_directory(world).join("ledger.jsonl")).unwrap();
    let records = ledger.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["kind"] == kind).map(|record| record["body"].clone()).collect()
}

/// The same, where the run may not have a directory yet.
fn records_or_none(world: &World, kind: &str) -> Vec<Value> {
    match world.runs().first().map(|run| run.join("ledger.jsonl").exists()) {
        Some(true) => records(world, kind),
        _ => Vec::new(),
    }
}

/// The evidence holds, however the run ended.
fn verify(world: &World) {
    let receipt = run_directory(world).join("receipt.json");
    let words = ["receipt", "verify", receipt.to_str().unwrap(), "--json"];
    let report = answer(world, &words).json();
    for aspect in ["signature", "chain", "subjects", "policy", "completeness"] {
        assert_eq!(report["verdict"][aspect]["verdict"], "holds", "{report:#}");
    }
}

fn another_shell_lets_it_happen_once() {
    let world = asking("");
    let running = start(&world, "date +one; echo code-$?; date +one; echo code-$?");
    let ask = waiting(&world, 1).remove(0);
    assert_eq!(ask["command"]["args"], json!(["+one"]));
    assert_eq!(ask["rules"][0]["id"], "ask-before-date");
    let approved = answer(&world, &["approve", id(&ask)]).expect_code(0);
    assert!(approved.out().contains("arguments  +one"), "{approved}");
    // The same again is another ask.
    let again = waiting(&world, 1).remove(0);
    assert_ne!(id(&again), id(&ask));
    answer(&world, &["approve", id(&ask)]).expect_code(127);
    answer(&world, &["approve", id(&again)]).expect_code(0);
    let ran = running.wait().expect_code(0).expect_out("one\ncode-0\none\ncode-0");
    assert!(ran.err().contains("loop approve"), "{ran}");
    assert_eq!(records(&world, "approval.answered").len(), 2);
    verify(&world);
}

fn an_answer_for_the_run_is_not_asked_for_again() {
    let world = asking("");
    let running = start(&world, "for i in 1 2 3 4 5; do date +same; done; date +other");
    let ask = waiting(&world, 1).remove(0);
    answer(&world, &["approve", id(&ask), "--scope", "run"]).expect_code(0);
    let other = waiting(&world, 1).remove(0);
    assert_eq!(other["command"]["args"], json!(["+other"]));
    answer(&world, &["approve", id(&other)]).expect_code(0);
    running.wait().expect_code(0).expect_out("same\nsame\nsame\nsame\nsame\nother");
    assert_eq!(records(&world, "approval.asked").len(), 2);
    verify(&world);
}

fn a_denial_reaches_the_command_and_says_why() {
    let world = asking("");
    let running = start(&world, "/usr/bin/date; echo code-$?");
    let ask = waiting(&world, 1).remove(0);
    answer(&world, &["deny", id(&ask), "--reason", "not on a friday"]).expect_code(0);
    let ran = running.wait().expect_code(0).expect_out("code-126");
    assert!(ran.err().contains("not on a friday"), "{ran}");
    let denied = records(&world, "denied").remove(0);
    assert_eq!(
        (&denied["because"], &denied["said"]),
        (&json!("person"), &json!("not on a friday"))
    );
    verify(&world);
}

fn a_denial_is_one_for_the_whole_search_path() {
    let world = asking("");
    // A shell that is refused goes on looking, and /bin is /usr/bin by another name.
    let script = "PATH=/usr/bin:/bin:/usr/bin; date; echo code-$?";
    let running = start(&world, script);
    let ask = waiting(&world, 1).remove(0);
    answer(&world, &["deny", id(&ask)]).expect_code(0);
    running.wait().expect_code(0).expect_out("code-126");
    assert_eq!(records(&world, "approval.asked").len(), 1);
}

fn what_nobody_answers_is_denied_in_time() {
    let world = asking("timeout = \"300ms\"");
    let ran = start(&world, "/usr/bin/date; echo code-$?").wait();
    let ran = ran.expect_code(0).expect_out("code-126");
    assert!(ran.err().contains("nobody answered within 300ms"), "{ran}");
    assert_eq!(records(&world, "denied").remove(0)["because"], "timeout");
}

fn stopping_ends_the_run() {
    let world = asking("");
    let remains = Remains::watch();
    let running = start(&world, "sleep 1000 & date & date +x & wait");
    let ask = waiting(&world, 2).remove(0);
    answer(&world, &["deny", id(&ask), "--stop"]).expect_code(0);
    running.wait().expect_code(130);
    remains.expect_none();
    let denied = records(&world, "denied");
    let because: Vec<_> = denied.iter().map(|body| body["because"].as_str().unwrap()).collect();
    assert_eq!(because.iter().filter(|because| **because == "person").count(), 1, "{because:?}");
    assert!(because.contains(&"stopped"), "{because:?}");
    assert_eq!(records(&world, "run.end").remove(0)["outcome"], "stopped");
    verify(&world);
}

/// One request to the socket of a run, as any process of the person could send it.
fn say(run: &Path, words: &Value) -> Value {
    // The path may be longer than a socket's name can be.
    let directory = std::fs::File::open(run).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&directory);
    let mut socket = UnixStream::connect(format!("/proc/self/fd/{number}/approvals.sock")).unwrap();
    let body = serde_json::to_vec(words).unwrap();
    socket.write_all(&u32::try_from(body.len()).unwrap().to_le_bytes()).unwrap();
    socket.write_all(&body).unwrap();
    let mut length = [0; 4];
    if socket.read_exact(&mut length).is_err() {
        return Value::Null;
    }
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    socket.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn an_answer_to_something_else_is_refused_and_recorded() {
    let world = asking("");
    // The second keeps the run there until it was answered, too.
    let running = start(&world, "date; date +x");
    let ask = waiting(&world, 1).remove(0);
    let run = run_directory(&world);
    let foreign = format!("sha256:{}", "0".repeat(64));
    let send = |id: &str, binding: &Value| {
        say(&run, &json!({"answer": {"id": id, "binding": binding, "choice": {"choice": "once"}}}))
    };
    for (id, binding) in [(id(&ask), json!(foreign)), ("zzzz", ask["binding"].clone())] {
        assert!(send(id, &binding)["refused"]["why"].is_string());
    }
    for garbage in [json!({}), json!("answer"), json!({"answer": {}}), json!({"attend": 1})] {
        assert_eq!(say(&run, &garbage), Value::Null);
    }
    assert_eq!(asks(&world).len(), 1);
    assert!(send(id(&ask), &ask["binding"])["counted"]["record"].is_number());
    assert!(send(id(&ask), &ask["binding"])["refused"]["why"].is_string());
    let second = waiting(&world, 1).remove(0);
    answer(&world, &["approve", id(&second)]).expect_code(0);
    running.wait().expect_code(0);
    let refused = records(&world, "approval.refused");
    let because: Vec<_> = refused.iter().map(|body| body["because"].as_str().unwrap()).collect();
    assert_eq!(because, ["other-binding", "no-such-ask", "answered"]);
    verify(&world);
}

fn the_run_cannot_reach_the_socket_where_it_is_answered() {
    let world = asking("");
    let home = world.loop_home();
    let script =
        format!("ls -d {}/run/*/approvals.sock; test ! -e {0} && echo none", home.display());
    let running = start(&world, &format!("{script}; date >/dev/null"));
    let ask = waiting(&world, 1).remove(0);
    let socket = run_directory(&world).join("approvals.sock");
    let mode = std::fs::metadata(&socket).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
    answer(&world, &["approve", id(&ask)]).expect_code(0);
    running.wait().expect_code(0).expect_out("none");
    assert!(!socket.exists());
}

fn what_nobody_wants_any_more_does_not_wait() {
    let world = asking("");
    let running = start(&world, "date & sleep 0.5; kill -9 $!; wait; sleep 1000");
    let began = Instant::now();
    while records_or_none(&world, "denied").is_empty() {
        assert!(began.elapsed() < PATIENCE, "the ask of a killed process still waits");
        sleep(Duration::from_millis(50));
    }
    assert!(asks(&world).is_empty());
    assert_eq!(records(&world, "denied").remove(0)["because"], "withdrawn");
    running.signal(rustix::process::Signal::TERM);
    running.wait();
}

fn a_flood_is_capped_and_said_and_hides_nobody() {
    let world = asking("max_waiting = 4");
    let script =
        "date +first & sleep 0.5; for i in $(seq 100); do date +$i 2>/dev/null & done; wait";
    let running = start(&world, script);
    let first = waiting(&world, 1).remove(0);
    assert_eq!(first["command"]["args"], json!(["+first"]));
    let all = waiting(&world, 4);
    assert_eq!((id(&all[0]), all.len()), (id(&first), 4));
    answer(&world, &["approve", id(&first)]).expect_code(0);
    for _ in 0..200 {
        if let Some(ask) = asks(&world).first() {
            answer(&world, &["deny", id(ask)]);
        } else if records(&world, "denied").len() >= 100 {
            break;
        }
    }
    let ran = running.wait().expect_out("first");
    assert_eq!(ran.err().matches("too many asks").count(), 1, "{ran}");
    let capped = records(&world, "approval.capped");
    assert_eq!(capped[0], json!({"key": "approvals.max_waiting", "limit": 4}));
}

fn a_run_that_cannot_ask_has_no_socket() {
    let world = World::new();
    let project = world.repository("project");
    let running = world.exec(&project, &["sh", "-c", "echo ready; read line"]).start();
    let began = Instant::now();
    while world.runs().is_empty() && began.elapsed() < PATIENCE {
        sleep(Duration::from_millis(20));
    }
    assert!(!run_directory(&world).join("approvals.sock").exists());
    world
        .run_loop(&project, &["approvals"])
        .run()
        .expect_code(0)
        .expect_out("nothing waits for you");
    running.wait();
}

fn shell(world: &World, flags: &[&str], script: &str) -> Terminal {
    let command = world.exec_with(project(world), flags, &["sh", "-c", script]);
    Terminal::start(&command.env("TERM", "xterm").env("NO_COLOR", "1").into_command())
}

fn press(terminal: &mut Terminal, key: &str) {
    terminal.expect("y once");
    sleep(SETTLED);
    terminal.send(key);
}

/// Where keys went before, one that comes alone may be read with them on a slow machine.
fn press_until_answered(world: &World, terminal: &mut Terminal, ask: &str, key: &str) {
    let began = Instant::now();
    loop {
        terminal.send(key);
        sleep(SETTLED);
        if asks(world).iter().all(|other| id(other) != ask) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{ask} waits still");
    }
}

fn the_difference_is_shown_at_the_terminal() {
    let world = asking("");
    world.write("project/.envrc", "one\n");
    let script = "echo two > next; mv next .envrc; echo code-$?; cat .envrc; touch plain; ls plain";
    let mut terminal = shell(&world, &["--mode", "direct"], script);
    terminal.expect(".envrc");
    terminal.expect("-one");
    terminal.expect("+two");
    press(&mut terminal, "y");
    terminal.expect("code-0");
    terminal.expect("two");
    terminal.expect("plain");
    assert_eq!(terminal.wait().code(), Some(0));
    assert_eq!(std::fs::read_to_string(project(&world).join(".envrc")).unwrap(), "two\n");
}

fn a_key_at_the_terminal_answers() {
    let world = asking("");
    let script = "/usr/bin/date +yes; echo code-$?; /usr/bin/date +no; echo code-$?";
    let mut terminal = shell(&world, &[], script);
    terminal.expect("wants to run a program");
    terminal.expect("/usr/bin/date");
    terminal.expect("+yes");
    terminal.expect("ask-before-date (");
    terminal.expect("dates are seen by others");
    press(&mut terminal, "x");
    sleep(SETTLED);
    terminal.send("\x1b[A");
    sleep(SETTLED);
    terminal.send("yy");
    sleep(SETTLED);
    let asked = waiting(&world, 1);
    assert_eq!(asked.len(), 1);
    press_until_answered(&world, &mut terminal, id(&asked[0]), "y");
    terminal.expect("approved once");
    terminal.expect("code-0");
    press(&mut terminal, "n");
    terminal.expect("denied");
    terminal.expect("code-126");
    assert_eq!(terminal.wait().code(), Some(0));
    let answered = records(&world, "approval.answered");
    assert_eq!(answered[0]["by"]["via"], "terminal");
    verify(&world);
}

fn keys_typed_before_the_prompt_are_not_for_it() {
    let world = asking("");
    let mut terminal = shell(&world, &[], "echo ready; sleep 1; /usr/bin/date; echo code-$?");
    terminal.expect("ready");
    terminal.send("yyyy");
    terminal.expect("y once");
    terminal.send("y");
    sleep(SETTLED);
    assert_eq!(waiting(&world, 1).len(), 1);
    terminal.send("n");
    terminal.expect("code-126");
    assert_eq!(terminal.wait().code(), Some(0));
}

fn hostile_arguments_are_inert_at_the_terminal() {
    let world = asking("");
    let script =
        r#"date "$(printf 'x\n\n  y once\n\033[2J\033]0;owned\007\342\200\256gpj.exe')" 2>&1"#;
    let mut terminal = shell(&world, &[], script);
    terminal.expect("x\\n\\n  y once\\n\\x1b[2J\\x1b]0;owned\\x07\\u{202e}gpj.exe");
    press(&mut terminal, "s");
    assert_eq!(terminal.wait().code(), Some(130));
}

fn a_prompt_holds_nothing_but_its_terminal() {
    let world = asking("");
    let mut terminal = shell(
        &world,
        &[],
        "(sleep 0.7; echo to-terminal; echo to-file > f; sleep 0.3; date +x) & /usr/bin/date +%n",
    );
    terminal.expect("y once");
    // Another command of the run asks, too; it goes on meanwhile.
    assert_eq!(waiting(&world, 2).len(), 2);
    terminal.expect("1 more waiting");
    assert!(!terminal.screen().contains("to-terminal\n"), "{}", terminal.screen());
    press(&mut terminal, "n");
    terminal.expect("to-terminal");
    press(&mut terminal, "n");
    terminal.wait();
}

/// Whether the terminal is as it was, as a program outside sees it.
fn as_before(world: &World, flags: &str, script: &str) -> Terminal {
    let exec = world.exec(project(world), &["true"]).into_command();
    let program = exec.get_program().to_str().unwrap().to_owned();
    let script = format!(
        "before=$(stty -g); '{program}' exec {flags} -- sh -c '{script}'; echo loop-$?; test \"$before\" = \"$(stty -g)\" && echo as-before"
    );
    let command = world
        .outside(project(world), &["sh", "-c", &script])
        .env("TERM", "xterm")
        .env("NO_COLOR", "1");
    Terminal::start(&command.into_command())
}

fn a_time_limit_ends_a_run_at_its_prompt() {
    let world = asking("");
    let mut terminal = as_before(&world, "--timeout 2s", "date; sleep 1000");
    terminal.expect("y once");
    terminal.expect("loop-124");
    terminal.expect("as-before");
    assert_eq!(terminal.wait().code(), Some(0));
}

fn stopping_at_the_terminal_gives_it_back() {
    for key in ["s", "\x03"] {
        let world = asking("");
        let mut terminal = as_before(&world, "--quiet", "date; sleep 1000");
        press(&mut terminal, key);
        terminal.expect("loop-130");
        terminal.expect("as-before");
        assert_eq!(terminal.wait().code(), Some(0));
        assert_eq!(records(&world, "approval.answered").remove(0)["answer"], "stop");
    }
}

fn a_warm_sandbox_asks_where_its_command_runs() {
    let world = asking("");
    let remains = Remains::watch();
    let session = ["--session", "dev"];
    let mut terminal = shell(&world, &session, "echo ready; read line; /usr/bin/date +inside");
    terminal.expect("ready");
    terminal.send("go\r");
    press(&mut terminal, "y");
    terminal.expect("inside");
    assert_eq!(terminal.wait().code(), Some(0));
    // The command itself can be what is asked about.
    let line = world.exec_with(project(&world), &session, &["/usr/bin/date", "+outside"]);
    let mut terminal =
        Terminal::start(&line.env("TERM", "xterm").env("NO_COLOR", "1").into_command());
    press(&mut terminal, "y");
    terminal.expect("outside");
    assert_eq!(terminal.wait().code(), Some(0));
    let line = world.exec_with(project(&world), &session, &["/usr/bin/date", "+again"]).start();
    let ask = waiting(&world, 1).remove(0);
    answer(&world, &["deny", id(&ask), "--stop"]).expect_code(0);
    line.wait().expect_code(126);
    remains.expect_none();
    verify(&world);
}

fn a_prompt_before_the_command_has_started() {
    let world = asking("");
    let project = project(&world);
    world.write(project.join("script"), "#!/usr/bin/date +interpreted\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(project.join("script"), mode).unwrap();
    for session in [&[][..], &["--session", "dev"]] {
        let line = world.exec_with(&project, session, &["./script"]);
        let line = line.env("TERM", "xterm").env("NO_COLOR", "1");
        let mut terminal = Terminal::start(&line.into_command());
        press(&mut terminal, "n");
        terminal.wait();
        let line = world.exec_with(&project, session, &["./script"]).start();
        let ask = waiting(&world, 1).remove(0);
        assert_eq!(ask["command"]["program"], "/usr/bin/date");
        answer(&world, &["deny", id(&ask)]).expect_code(0);
        let ran = line.wait();
        assert_eq!(ran.code(), Some(126), "{ran}");
    }
    answer(&world, &["stop", "dev"]).expect_code(0);
}
