//! `loop run`: Loop's own agent, with a model that plays a script, in this process or as a provider.

mod broken;
mod carried;
mod interrupted;
mod person;

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Launch, ModelServer, Ran, Remains, World, need};

crate::tests![
    a_task_is_done_with_every_provider,
    every_tool_is_carried_out_once,
    what_is_not_allowed_is_held_and_explained,
    the_key_is_nowhere_but_in_the_request,
    a_kept_key_is_used,
    without_a_key_nothing_is_started,
    budgets_end_the_turn,
    a_profile_clamps_what_is_asked_for,
    the_last_message_fits_a_schema_or_the_run_fails,
    what_is_piped_in_is_context,
    every_line_of_json_is_an_object,
    a_session_goes_on_and_forks,
    instructions_of_the_project_are_shown_to_the_model,
    direct_mode_changes_the_project,
    read_only_mode_changes_nothing,
    two_runs_at_once_do_not_meet,
    a_flood_is_cut_and_the_run_goes_on,
    a_limit_inside_is_reported_as_that_limit,
    show_and_audit_tell_of_the_agent,
];
pub(crate) use broken::TESTS as BROKEN;
pub(crate) use carried::TESTS as CARRIED;
pub(crate) use interrupted::TESTS as INTERRUPTED;
pub(crate) use person::TESTS as PERSON;

/// A key that must not be seen anywhere.
const CANARY: &str = "sk-canary-5f1d0b";

/// Reads, edits, and says so.
const HELLO: &str = r##"
name = "hello"

[[turn]]
expect = { tools = ["read", "edit", "bash"], last = "say hello" }
text = "I look."
call = [{ name = "read", arguments = { path = "README.md" } }]

[[turn]]
expect = { last = "# A project", failed = false }
call = [{ name = "edit", arguments = { path = "README.md", edits = [{ old = "# A project", new = "# Hello" }] } }]

[[turn]]
expect = { results = 1, failed = false }
text = "It says hello."
"##;

/// A person with a project, and scripts beside it.
struct Desk {
    world: World,
    project: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let world = World::new();
        let project = world.repository("project").path().to_owned();
        Self { world, project }
    }

    /// A file outside of the project.
    fn file(&self, name: &str, text: &str) -> String {
        self.world.write(name, text).to_str().unwrap().to_owned()
    }

    /// `loop run --model scripted:… FLAGS -- TASK`.
    fn run(&self, script: &str, flags: &[&str], task: &str) -> Launch {
        let script = format!("name = \"scripted\"\n{}", script.replace("name = \"hello\"\n", ""));
        let model = format!("scripted:{}", self.file("script.toml", &script));
        self.with_model(&model, flags, task)
    }

    fn with_model(&self, model: &str, flags: &[&str], task: &str) -> Launch {
        let words = [&["run", "--model", model], flags, &["--", task]].concat();
        self.world.run_loop(&self.project, &words)
    }

    fn command(&self, words: &[&str]) -> Ran {
        self.world.run_loop(&self.project, words).run()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project.join(name)).unwrap()
    }

    /// A file of the newest run.
    fn of_run(&self, name: &str) -> PathBuf {
        let written = |run: &PathBuf| {
            run.join("ledger.jsonl").metadata().and_then(|it| it.modified()).unwrap()
        };
        self.world.runs().into_iter().max_by_key(written).unwrap().join(name)
    }

    /// The records of the newest run of a kind.
    fn records(&self, kind: &str) -> Vec<Value> {
        let ledger = std::fs::read_to_string(self.of_run("ledger.jsonl")).unwrap();
        let records = ledger.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.filter(|record| record["kind"] == kind).map(|it| it["body"].clone()).collect()
    }

    /// The receipt of the newest run verifies, and claims this; what it says.
    fn receipt(&self, outcome: &str) -> Value {
        let receipt = self.of_run("receipt.json");
        let words = ["receipt", "verify", receipt.to_str().unwrap(), "--allow", "unverified"];
        let verified = self.command(&words).expect_code(i32::from(outcome != "unverified"));
        assert!(verified.out().contains(outcome), "{verified}");
        let shown = self.command(&["receipt", "show", "--json"]).expect_code(0);
        shown.json()
    }
}

/// The objects that `--json` printed.
fn lines(ran: &Ran) -> Vec<Value> {
    ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The report at their end.
fn report(ran: &Ran) -> Value {
    let last = lines(ran).pop().unwrap();
    assert_eq!(last["type"], "run.completed", "{ran}");
    last["report"].clone()
}

/// The items that were completed.
fn items(ran: &Ran) -> Vec<Value> {
    let lines = lines(ran);
    let completed = lines.iter().filter(|line| line["type"] == "item.completed");
    completed.map(|line| line["item"].clone()).collect()
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

/// Everything below a directory, as text.
fn everything(directory: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        if kind.is_dir() {
            all.push_str(&everything(&path));
        } else if kind.is_file() {
            all.push_str(&text(&path));
        }
    }
    all
}

/// The task with one model; what the receipt is to say of it.
fn say_hello(desk: &Desk, launch: Launch, provider: &str, name: &str) {
    let remains = Remains::watch();
    let ran = launch.run().expect_code(0);
    remains.expect_none();
    assert_eq!(ran.out(), "It says hello.", "{ran}");
    assert_eq!(desk.read("README.md"), "# A project\n");
    let diff = desk.command(&["diff"]).expect_code(0);
    assert!(diff.out().contains("+# Hello"), "{diff}");
    let said = desk.receipt("unverified").to_string();
    for part in [format!("\"provider\":\"{provider}\""), format!("\"name\":\"{name}\"")] {
        assert!(said.contains(&part), "{part} is not in {said}");
    }
    assert!(said.contains("\"steps\":3") && said.contains("\"tokens\":"), "{said}");
    desk.command(&["apply"]).expect_code(0);
    assert_eq!(desk.read("README.md"), "# Hello\n");
    std::fs::write(desk.project.join("README.md"), "# A project\n").unwrap();
}

fn a_task_is_done_with_every_provider() {
    let desk = Desk::new();
    say_hello(&desk, desk.run(HELLO, &[], "say hello"), "scripted", "scripted");
    let served = |model: &str, set: &dyn Fn(Launch, &str) -> Launch, provider: &str, name: &str| {
        let server = ModelServer::start(HELLO);
        let model = model.replace("URL", &server.url());
        let launch = set(desk.with_model(&model, &[], "say hello"), &server.url());
        say_hello(&desk, launch, provider, name);
        server.verdict().unwrap();
        assert!(server.is_at_its_end());
        server.asked().remove(0)
    };
    let anthropic = |launch: Launch, url: &str| {
        launch.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", CANARY)
    };
    let asked = served("anthropic:claude-x", &anthropic, "anthropic", "claude-x");
    assert_eq!(asked.header("x-api-key"), Some(CANARY));
    let openai = |launch: Launch, url: &str| {
        launch.env("OPENAI_BASE_URL", format!("{url}/v1")).env("OPENAI_API_KEY", CANARY)
    };
    let asked = served("openai:gpt-x", &openai, "openai", "gpt-x");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    let plain = |launch: Launch, _: &str| launch;
    let asked = served("openai-compatible:URL/v1#small", &plain, "openai-compatible", "small");
    assert_eq!(asked.header("authorization"), None);
}

const EVERY_TOOL: &str = r##"
[[turn]]
call = [
  { name = "todo", arguments = { items = [{ text = "try all", state = "doing" }] } },
  { name = "read", arguments = { path = "README.md" } },
  { name = "write", arguments = { path = "new.txt", content = "one\n" } },
  { name = "edit", arguments = { path = "README.md", edits = [{ old = "project", new = "thing" }] } },
  { name = "patch", arguments = { patch = "*** Begin Patch\n*** Add File: patched.txt\n+two\n*** End Patch" } },
  { name = "grep", arguments = { pattern = "thing" } },
  { name = "glob", arguments = { pattern = "*.txt" } },
  { name = "ls" },
  { name = "bash", arguments = { command = "cat new.txt patched.txt" } },
  { name = "bash", arguments = { command = "echo started; sleep 1000", background = true } },
]

[[turn]]
expect = { results = 10, failed = false, last = ["README.md:1", "patched.txt", "one", "two", "j1"] }
call = [
  { name = "job", arguments = { id = "j1", do = "wait", timeout = 1 } },
  { name = "job", arguments = { id = "j1", do = "stop" } },
]

[[turn]]
expect = { results = 2, last = "started" }
call = [{ name = "fetch", arguments = { url = "https://example.com" } }, { name = "ask", arguments = { question = "Which?" } }]

[[turn]]
expect = { results = 2, last = "nobody is there" }
call = [{ name = "fly", arguments = { to = "the moon" } }, { name = "read", raw = "{\"path\": " }]

[[turn]]
expect = { results = 2, failed = true, last = ["there is no tool", "not valid JSON"] }
text = "All tried."
"##;

fn every_tool_is_carried_out_once() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let ran = desk.run(EVERY_TOOL, &["--json"], "try all").run().expect_code(0);
    remains.expect_none();
    let intents = desk.records("tool.intent");
    let tools: Vec<_> = intents.iter().map(|it| it["action"]["name"].as_str().unwrap()).collect();
    let expected = [
        "read", "write", "edit", "patch", "grep", "glob", "list", "bash", "bash", "job", "job",
        "fetch",
    ];
    assert_eq!(tools, expected);
    assert_eq!(desk.records("tool.result").len(), expected.len());
    let words: Vec<_> = items(&ran).iter().map(|item| item["words"].clone()).collect();
    assert!(words.contains(&"thing in .".into()), "{ran}");
    assert_eq!(desk.read("README.md"), "# A project\n");
    assert_eq!(desk.command(&["apply"]).expect_code(0).code(), Some(0));
    assert_eq!(
        desk.read("README.md") + &desk.read("new.txt") + &desk.read("patched.txt"),
        "# A thing\none\ntwo\n"
    );
}

const HOSTILE: &str = r##"
[[turn]]
call = [
  { name = "bash", arguments = { command = "rm -rf / --no-preserve-root; echo gone" } },
  { name = "write", arguments = { path = "/etc/cron.d/loop", content = "x" } },
  { name = "write", arguments = { path = "../outside.txt", content = "x" } },
  { name = "bash", arguments = { command = "date" } },
  { name = "glob", arguments = { pattern = "*" } },
]

[[turn]]
expect = { results = 5, last = ["Permission denied", "denied by rule no-glob", "globs are slow"] }
text = "I can't."
"##;

fn what_is_not_allowed_is_held_and_explained() {
    let desk = Desk::new();
    desk.file(
        "loop-home/config.toml",
        "[[rule]]\nid = \"no-glob\"\naction = \"tool\"\ntool = \"glob\"\nverdict = \"deny\"\n\
         reason = \"globs are slow\"\n\n\
         [[rule]]\nid = \"no-date\"\naction = \"exec\"\nprogram = \"date\"\nverdict = \"deny\"\n",
    );
    let before = desk.world.home().read_dir().unwrap().count();
    let ran = desk.run(HOSTILE, &["--json"], "try").run().expect_code(0);
    let statuses: Vec<_> = items(&ran).iter().map(|item| item["status"].clone()).collect();
    assert_eq!(statuses[4], "denied", "{ran}");
    assert!(ran.out().contains("no-glob") && ran.out().contains("no-date"), "{ran}");
    let denied: Vec<_> = desk.records("denied").iter().map(Value::to_string).collect();
    assert!(denied.iter().any(|it| it.contains("no-glob")), "{denied:?}");
    assert!(denied.iter().any(|it| it.contains("no-date")), "{denied:?}");
    assert_eq!(desk.read("README.md"), "# A project\n");
    assert_eq!(desk.world.home().read_dir().unwrap().count(), before);
    assert!(!desk.world.path().join("outside.txt").exists());
    assert!(!Path::new("/etc/cron.d/loop").exists());
}

const LOOKING: &str = r##"
[[turn]]
call = [{ name = "bash", arguments = { command = "env; tr '\\0' '\\n' < /proc/1/environ; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'; grep -rIs 'sk-[c]anary' /root /home /tmp /run . ~; echo looked" } }]

[[turn]]
expect = { last = "looked" }
text = "Nothing."
"##;

fn the_key_is_nowhere_but_in_the_request() {
    let desk = Desk::new();
    let server = ModelServer::start(&format!("name = \"x\"\n{LOOKING}"));
    let launch = desk.with_model("anthropic:claude-x", &["--json"], "look for the key");
    let launch = launch.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", CANARY);
    let ran = launch.run().expect_code(0);
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.header("x-api-key") == Some(CANARY)));
    assert!(asked.iter().all(|asked| !asked.body.to_string().contains(CANARY)));
    assert!(!ran.out().contains(CANARY) && !ran.err().contains(CANARY), "{ran}");
    assert!(!everything(&desk.world.loop_home()).contains(CANARY));
    assert!(desk.world.loop_home().join("agent").is_dir());
}

fn a_kept_key_is_used() {
    let desk = Desk::new();
    let login = desk.world.run_loop(&desk.project, &["login", "anthropic"]);
    let login = login.input(format!("{CANARY}\n")).run().expect_code(0);
    assert!(!format!("{login}").contains(CANARY), "{login}");
    let server = ModelServer::start(&format!("name = \"x\"\n{LOOKING}"));
    let launch = desk.with_model("anthropic:claude-x", &["--json"], "look for the key");
    let ran = launch.env("ANTHROPIC_BASE_URL", server.url()).run().expect_code(0);
    assert_eq!(server.asked()[0].header("x-api-key"), Some(CANARY));
    assert!(!format!("{ran}").contains(CANARY), "{ran}");
    assert!(!everything(&desk.world.loop_home()).contains(CANARY));
    desk.command(&["logout", "anthropic"]).expect_code(0);
    desk.with_model("anthropic:claude-x", &[], "x").run().expect_code(125);
}

fn without_a_key_nothing_is_started() {
    let desk = Desk::new();
    let ran = desk.command(&["run", "say hello"]).expect_code(125);
    for part in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "loop models"] {
        assert!(ran.err().contains(part), "{part} is missing\n{ran}");
    }
    let ran = desk.with_model("openai:gpt-x", &[], "say hello").run().expect_code(125);
    assert!(ran.err().contains("OPENAI_API_KEY") && ran.err().contains("loop login"), "{ran}");
    desk.with_model("nobody:x", &[], "say hello").run().expect_code(125).expect_err("nobody:x");
    let ran = desk.with_model("scripted:/nowhere.toml", &[], "x").run().expect_code(125);
    assert!(ran.err().ends_with("next  name a file that can be read"), "{ran}");
    desk.command(&["run"]).expect_no_panic().expect_err("there is nothing to do");
    assert_eq!(desk.world.runs(), Vec::<PathBuf>::new());
}

/// Goes on for ever, with something new each time.
const FOREVER: &str = r##"
[[turn]]
call = [{ name = "bash", arguments = { command = "date +%N >> made.txt; tail -n 1 made.txt" } }]
usage = { input = 900, output = 100 }
repeat = true
"##;

fn stopped(desk: &Desk, launch: Launch, code: i32, why: &str) -> Value {
    let remains = Remains::watch();
    let ran = launch.run().expect_code(code);
    remains.expect_none();
    let report = report(&ran);
    assert_eq!(report["end"]["stopped"]["budget"], why, "{ran}");
    desk.receipt("stopped");
    report
}

fn budgets_end_the_turn() {
    let desk = Desk::new();
    let steps = stopped(&desk, desk.run(FOREVER, &["--json", "--steps", "2"], "x"), 1, "steps");
    assert_eq!(steps["steps"], 2);
    assert_eq!(desk.records("tool.intent").len(), 2);
    stopped(&desk, desk.run(FOREVER, &["--json", "--tokens", "20000"], "x"), 1, "tokens");
    let server = ModelServer::start(&format!("name = \"x\"\n{FOREVER}"));
    let flags = ["--json", "--money", "0.20"];
    let launch = desk.with_model("anthropic:claude-sonnet-4-5", &flags, "x");
    let launch = launch.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", CANARY);
    let money = stopped(&desk, launch, 1, "money");
    assert!(money["cost_micro_usd"].as_u64().unwrap() <= 200_000, "{money}");
    let sleeps = "[[turn]]\ncall = [{ name = \"bash\", arguments = { command = \"sleep 1000\" } }]";
    let wall = stopped(&desk, desk.run(sleeps, &["--json", "--timeout", "3s"], "x"), 124, "wall");
    assert_eq!(wall["run"]["limit"]["limit"], "wall", "{wall}");
}

fn a_profile_clamps_what_is_asked_for() {
    let desk = Desk::new();
    let text = "[profile]\nname = \"mine\"\nextends = \"agent\"\n\n[limits]\nsteps = 1\n";
    let profile = desk.file("profile.toml", text);
    let flags = ["--json", "--profile", &profile, "--steps", "50"];
    let report = stopped(&desk, desk.run(FOREVER, &flags, "x"), 1, "steps");
    assert_eq!(report["steps"], 1);
}

fn the_last_message_fits_a_schema_or_the_run_fails() {
    let desk = Desk::new();
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#;
    let schema = desk.file("schema.json", schema);
    let flags = ["--output-schema", schema.as_str()];
    let turns = |texts: &[&str]| -> String {
        texts.iter().map(|text| format!("[[turn]]\ntext = '{text}'\n")).collect()
    };
    let good = desk.run(&turns(&["{\"n\": \"no\"}", "{\"n\": 3}"]), &flags, "count").run();
    assert_eq!(good.expect_code(0).json()["n"], 3);
    let bad = desk.run(&turns(&["three", "still three"]), &flags, "count").run().expect_code(1);
    assert!(bad.err().contains("does not fit the schema"), "{bad}");
    desk.receipt("failed");
    let none = desk.file("none.json", r#"{"type":"object","patternProperties":{}}"#);
    let runs = desk.world.runs().len();
    let ran = desk.run("", &["--output-schema", &none], "count").run().expect_no_panic();
    assert!(ran.err().contains("patternProperties"), "{ran}");
    assert_eq!(desk.world.runs().len(), runs);
}

fn what_is_piped_in_is_context() {
    let desk = Desk::new();
    let script =
        "[[turn]]\nexpect = { last = [\"explain\", \"error[E0308]\"] }\ntext = \"Types.\"\n";
    let ran = desk.run(script, &[], "explain").input("error[E0308]: mismatched\n").run();
    ran.expect_code(0).expect_out("Types.");
}

fn every_line_of_json_is_an_object() {
    let desk = Desk::new();
    let ran = desk.run(HELLO, &["--json"], "say hello").run().expect_code(0);
    assert_eq!(ran.err(), "");
    let lines = lines(&ran);
    assert!(lines.iter().all(Value::is_object));
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["thread.started", "turn.started"]);
    assert_eq!(kinds[kinds.len() - 2..], ["turn.completed", "run.completed"]);
    let report = report(&ran);
    assert_eq!(report["end"]["finished"], "It says hello.");
    assert_eq!((report["steps"].as_u64(), report["run"]["exit_code"].as_u64()), (Some(3), Some(0)));
    assert_eq!(lines[0]["thread_id"], report["session"]);
}

fn a_session_goes_on_and_forks() {
    let desk = Desk::new();
    let turn = |expects: &str, says: &str| {
        format!("[[turn]]\nexpect = {{ {expects} }}\ntext = \"{says}\"\n")
    };
    desk.command(&["run", "--model", "scripted:/x", "--resume"]).expect_no_panic();
    let first = desk.run(&turn("last = \"one\"", "First."), &["--json"], "one").run();
    let session = report(&first.expect_code(0))["session"].as_str().unwrap().to_owned();
    let script = turn("last = \"two\", anywhere = [\"one\", \"First.\"]", "Second.");
    let newest = desk.run(&script, &["--json", "--resume"], "two").run().expect_code(0);
    assert_eq!(report(&newest)["session"], session.as_str());
    let script = turn("last = \"three\", anywhere = [\"one\", \"two\"]", "Third.");
    let named = desk.run(&script, &["--json", "--resume", &session], "three").run();
    assert_eq!(lines(&named.expect_code(0))[1]["turn"], 3);
    let script =
        turn("last = \"other\", anywhere = [\"one\", \"First.\"], absent = \"two\"", "Fork.");
    let flags = ["--json", "--fork", &format!("{session}@1")];
    let fork = report(&desk.run(&script, &flags, "other").run().expect_code(0));
    assert_ne!(fork["session"], session.as_str());
    let listed = desk.command(&["sessions", "--json"]).expect_code(0).json();
    let turns: Vec<_> = listed.as_array().unwrap().iter().map(|it| it["turns"].as_u64()).collect();
    assert_eq!(turns, [Some(2), Some(3)], "{listed}");
    assert_eq!(listed[1]["runs"].as_array().unwrap().len(), 3);
    desk.command(&["sessions"]).expect_code(0).expect_err("");
    desk.run("", &["--resume", "zzzz"], "x").run().expect_no_panic().expect_err("no session");
}

fn instructions_of_the_project_are_shown_to_the_model() {
    let desk = Desk::new();
    desk.world.write(desk.project.join("AGENTS.md"), "Never use tabs.\n");
    std::os::unix::fs::symlink("/etc/passwd", desk.project.join("CLAUDE.md")).unwrap();
    let script = "[[turn]]\nexpect = { anywhere = [\"AGENTS.md\", \"Never use tabs.\"], absent = \"root:\" }\ntext = \"Spaces.\"\n";
    let ran = desk.run(script, &[], "indent").run().expect_code(0);
    assert!(ran.err().contains("CLAUDE.md is not shown to the agent"), "{ran}");
}

const WRITES: &str = r##"
[[turn]]
call = [
  { name = "write", arguments = { path = "made.txt", content = "made\n" } },
  { name = "bash", arguments = { command = "echo more >> made.txt" } },
]

[[turn]]
expect = { results = 2 }
text = "Tried."
"##;

fn direct_mode_changes_the_project() {
    let desk = Desk::new();
    desk.run(WRITES, &["--mode", "direct"], "make").run().expect_code(0);
    assert_eq!(desk.read("made.txt"), "made\nmore\n");
    desk.receipt("unverified");
}

fn read_only_mode_changes_nothing() {
    let desk = Desk::new();
    let ran = desk.run(WRITES, &["--json", "--mode", "read-only"], "make").run().expect_code(0);
    assert!(items(&ran)[..2].iter().all(|item| item["status"] == "failed"), "{ran}");
    assert!(!desk.project.join("made.txt").exists());
    assert_eq!(report(&ran)["run"]["changes"]["added"], 0);
}

fn two_runs_at_once_do_not_meet() {
    let desk = Desk::new();
    let remains = Remains::watch();
    let script = |name: &str| {
        let command = format!("ls; sleep 1; echo {name} > own.txt; sleep 1; ls; cat own.txt");
        let bash = format!("{{ name = \"bash\", arguments = {{ command = \"{command}\" }} }}");
        let text = format!(
            "name = \"{name}\"\n[[turn]]\ncall = [{bash}]\n\n[[turn]]\nexpect = {{ last = \"{name}\" }}\ntext = \"Done.\"\n"
        );
        format!("scripted:{}", desk.file(&format!("{name}.toml"), &text))
    };
    let (one, two) = (script("one"), script("two"));
    let one = desk.with_model(&one, &["--json"], "make").start();
    let two = desk.with_model(&two, &["--json"], "make").start();
    let (one, two) = (one.wait().expect_code(0), two.wait().expect_code(0));
    assert_ne!(report(&one)["session"], report(&two)["session"]);
    assert!(!desk.project.join("own.txt").exists());
    remains.expect_none();
}

fn a_flood_is_cut_and_the_run_goes_on() {
    let desk = Desk::new();
    let script = r##"
[[turn]]
call = [{ name = "bash", arguments = { command = "head -c 10485760 /dev/zero | tr '\\0' x; echo; echo end" } }]

[[turn]]
expect = { last = ["end", "shown"], results = 1 }
text = "Much."
"##;
    let ran = desk.run(script, &["--json"], "flood").run().expect_code(0);
    assert!(ran.stdout.len() < 1 << 20, "{} bytes", ran.stdout.len());
    assert!(everything(&desk.world.loop_home().join("agent")).len() < 1 << 20);
    desk.receipt("unverified");
}

fn a_limit_inside_is_reported_as_that_limit() {
    need("python3");
    let desk = Desk::new();
    let profile = |limits: &str| {
        let text = format!("[profile]\nname = \"m\"\nextends = \"agent\"\n\n[limits]\n{limits}\n");
        desk.file("profile.toml", &text)
    };
    let bash = |command: &str| {
        format!(
            "[[turn]]\ncall = [{{ name = \"bash\", arguments = {{ command = '''{command}''' }} }}]\nrepeat = true\n"
        )
    };
    let memory = "python3 -c 'import time; held = bytearray(400 << 20); time.sleep(1000)'";
    let processes = "for i in $(seq 200); do sleep 1000 & done; wait";
    for (limit, limits, command) in
        [("memory", "memory = \"200MiB\"", memory), ("processes", "processes = 60", processes)]
    {
        let remains = Remains::watch();
        let flags = ["--json", "--profile", &profile(limits), "--timeout", "90s"];
        let ran = desk.run(&bash(command), &flags, "eat").run();
        remains.expect_none();
        assert_eq!(report(&ran)["run"]["limit"]["limit"], limit, "{ran}");
        assert_eq!(ran.code(), Some(1), "{ran}");
        desk.receipt("stopped");
    }
}

fn show_and_audit_tell_of_the_agent() {
    let desk = Desk::new();
    let ran = desk.run(HELLO, &["--json"], "say hello").run().expect_code(0);
    let (report, shown) = (report(&ran), desk.command(&["show", "--json"]).expect_code(0).json());
    assert_eq!(shown["agent"]["session"], report["session"]);
    assert_eq!(shown["agent"]["model"], report["model"]);
    assert_eq!(shown["agent"]["steps"], report["steps"]);
    let usage = &report["usage"];
    let tokens = usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap();
    assert_eq!(shown["agent"]["tokens"], tokens);
    let audit = desk.command(&["audit"]).expect_code(0).out();
    let parts = [
        "turn.start",
        "allow tool read README.md",
        "allow tool edit README.md",
        "purpose=answer",
        "turn.end",
        "end=finished",
    ];
    for part in parts {
        assert!(audit.contains(part), "{part} is missing\n{audit}");
    }
}
