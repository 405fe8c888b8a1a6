//! The syscall gate: programs and files that a rule is about, decided when they are asked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use testkit::{Launch, Ran, Running, World, need, wait_until};

crate::tests![
    a_denied_program_does_not_run_however_deep,
    the_strictest_file_on_the_way_decides,
    every_way_to_run_a_program_works_as_without_a_gate,
    what_changes_between_look_and_effect_does_not_run,
    many_processes_at_once_lose_nothing,
    an_ask_holds_up_nobody_else,
    an_answer_for_the_run_is_for_that_action,
    an_ask_that_nobody_answers_is_denied_in_time,
    a_program_that_is_traced_runs_no_other,
    a_filter_of_its_own_only_tightens,
    real_tools_work_under_rules,
    rules_hold_for_every_command_of_a_session,
    an_approved_command_that_could_not_start_leaves_nothing_behind,
    a_killed_gate_ends_the_sandbox,
    direct_mode_changes_the_project_at_once,
    what_direct_mode_changed_is_said_to_be_in_the_project,
    direct_mode_does_daily_work,
    a_guarded_file_is_written_as_it_was_shown,
    a_guarded_file_is_reached_by_no_other_way,
    what_the_gate_does_not_carry_out_fails_in_its_tree,
    a_rule_on_gits_configuration_is_asked_about,
    a_file_rule_holds_in_an_overlay,
    a_file_rule_is_not_evaded_by_moving_what_is_around_it,
    a_rule_that_is_not_watched_is_refused,
];

const NO_PUSH: &str = "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n\
    [[rule]]\nid = \"no-push\"\naction = \"exec\"\nprogram = \"probe\"\nargs = [\"push\", \"**\"]\n\
    verdict = \"VERDICT\"\nreason = \"pushing can't be undone\"\n\n\
    [[rule]]\nid = \"no-denied\"\naction = \"exec\"\nprogram = \"denied\"\nverdict = \"deny\"\n";

/// A project with the probes of this folder, compiled, and the profile above.
struct Gated {
    world: World,
    project: PathBuf,
    profile: String,
}

impl Gated {
    fn new(verdict: &str) -> Self {
        need("gcc");
        let world = World::new();
        let profile = world.write("profile.toml", NO_PUSH.replace("VERDICT", verdict));
        let profile = profile.to_str().unwrap().to_owned();
        let project = world.repository("project").path().to_owned();
        let gated = Self { world, project, profile };
        for name in ["starts", "race", "probe"] {
            let source = format!("{}/tests/probes/{name}.c", env!("CARGO_MANIFEST_DIR"));
            let target = gated.project.join(name);
            let line = ["gcc", "-O1", "-pthread", "-o", target.to_str().unwrap(), &source];
            gated.world.outside(gated.world.path(), &line).run().expect_code(0);
        }
        std::fs::copy(gated.project.join("probe"), gated.project.join("denied")).unwrap();
        gated
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.project.join(name), text).unwrap();
    }

    fn launch(&self, line: &[&str]) -> Launch {
        self.world.exec_with(&self.project, &["--profile", &self.profile], line)
    }

    fn sh(&self, script: &str) -> Launch {
        self.launch(&["sh", "-c", script])
    }

    fn tell(&self, arguments: &[&str]) -> Ran {
        self.world.run_loop(&self.project, arguments).run().expect_no_panic()
    }

    /// The asks that wait now.
    fn asks(&self) -> Vec<serde_json::Value> {
        asks(&self.world)
    }

    fn records(&self, kind: &str) -> usize {
        let ledger = self.world.runs().pop().unwrap().join("ledger.jsonl");
        let text = std::fs::read_to_string(ledger).unwrap();
        text.lines().filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).count()
    }
}

fn asks(world: &World) -> Vec<serde_json::Value> {
    let told = world.run_loop(world.path().join("project"), &["approvals", "--json"]).run();
    told.json().as_array().unwrap().clone()
}

/// The one ask that will be waiting in a moment.
fn the_ask(world: &World) -> serde_json::Value {
    wait_until("an ask", || !asks(world).is_empty());
    let mut all = asks(world);
    assert_eq!(all.len(), 1, "{all:?}");
    all.pop().unwrap()
}

fn id(ask: &serde_json::Value) -> &str {
    ask["id"].as_str().unwrap()
}

fn a_denied_program_does_not_run_however_deep() {
    let gated = Gated::new("deny");
    let deep = "set -e; ./probe fine; sh -c 'sh -c \"./probe push origin; echo \\$?\"'; \
                python3 -c 'import subprocess; \
                print(subprocess.run([\"./probe\", \"push\"]).returncode)' || echo python; \
                env ./probe push || echo env; find . -name probe -exec {} push \\;; echo end";
    let ran = gated.sh(deep).run().expect_code(0);
    assert_eq!(ran.out(), "126\npython\nenv\nend", "{ran}");
    for part in ["pushing can't be undone", "no-push", "profile.toml:5", "denied"] {
        assert!(ran.err().contains(part), "{part} is missing\n{ran}");
    }
    assert_eq!(gated.records("denied"), 4);
    // The command itself is no exception.
    gated.launch(&["./probe", "push"]).run().expect_code(126).expect_err("pushing");
}

fn the_strictest_file_on_the_way_decides() {
    let gated = Gated::new("deny");
    gated.write("script", "#!./denied\n");
    gated.write("through", "#!./script one\n");
    gated.write("fine", "#!./probe\n");
    let script = "chmod +x script through fine; for way in ./script ./through ./denied; do \
                  $way 2>/dev/null; echo $?; done; ./fine; echo $?; \
                  /lib64/ld-linux-x86-64.so.2 ./denied 2>/dev/null; echo $?; \
                  /lib64/ld-linux-x86-64.so.2 --argv0 x ./probe push 2>/dev/null; echo $?; \
                  /lib64/ld-linux-x86-64.so.2 --unknown ./probe 2>/dev/null; echo $?; \
                  ln -s denied innocent; ./innocent 2>/dev/null; echo $?; \
                  cp /lib64/ld-linux-x86-64.so.2 ld-copy.so; ./ld-copy.so ./denied 2>/dev/null; echo $?";
    let ran = gated.sh(script).run().expect_code(0);
    assert_eq!(ran.out(), "126\n126\n126\n0\n126\n126\n126\n126\n126", "{ran}");
}

fn every_way_to_run_a_program_works_as_without_a_gate() {
    let gated = Gated::new("deny");
    gated.write("plain", "no program\n");
    gated.write("script", "#!/usr/bin/env -S sh -e\nexit 7\n");
    gated.write("bare", "exit 3\n");
    let chmod = ["chmod", "+x", "script", "bare"];
    gated.world.outside(&gated.project, &chmod).run().expect_code(0);
    let bare = gated.world.outside(&gated.project, &["./starts"]).run().expect_code(0).out();
    let inside = gated.launch(&["./starts"]).run().expect_code(0);
    let nameless = ["from memory", "from memory by path", "removed"];
    for (bare, gate) in bare.lines().zip(inside.out().lines()) {
        if nameless.iter().any(|name| bare.starts_with(&format!("{name}:"))) {
            assert!(bare.ends_with("exit 0"), "the attack does not work bare: {bare}");
            assert!(gate.ends_with("exit 1"), "{gate}\n{inside}");
        } else {
            assert_eq!(bare, gate, "{inside}");
        }
    }
    assert!(inside.err().contains("not a file with a name"), "{inside}");
    assert_eq!(gated.records("denied"), 3);
}

/// Arguments, path, shared memory and a link are each changed for ten seconds, at the same time.
fn what_changes_between_look_and_effect_does_not_run() {
    let gated = Gated::new("deny");
    let ways = ["word", "path", "memory", "link"];
    let start = |seconds: u32| {
        let each = ways.map(|way| {
            format!("mkdir -p {way} && cp probe denied race {way} && (cd {way} && ./race {way} {seconds}) &")
        });
        format!("{} wait", each.join(" "))
    };
    let through = |ran: &Ran, way: &str| {
        let out = ran.out();
        let line =
            out.lines().find(|line| line.starts_with(&format!("{way}:"))).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
    };
    let bare = gated.world.outside(&gated.project, &["sh", "-c", &start(3)]).run();
    for way in ways {
        assert!(through(&bare, way) > 0, "the attack does not work bare: {way}\n{bare}");
    }
    let inside = gated.sh(&start(10)).run().expect_code(0);
    for way in ways {
        assert_eq!(through(&inside, way), 0, "{way}\n{inside}");
        assert!(inside.out().contains(&format!("{way}: passed")), "{inside}");
    }
    // Next to the races, what is allowed runs.
    assert!(!inside.out().contains("passed 0 "), "{inside}");
}

/// 64 processes run 10,000 programs; some wait for a person meanwhile, and nothing is lost.
fn many_processes_at_once_lose_nothing() {
    let gated = Gated::new("ask");
    let script = "for i in $(seq 64); do (n=0; for j in $(seq 156); do ./probe $i $j && n=$((n+1)); \
                  done; echo ran $n) & done; \
                  for i in 1 2 3; do (./probe push $i; echo asked $?) & done; wait";
    let running = gated.sh(script).start();
    wait_until("three asks", || gated.asks().len() == 3);
    let all = gated.asks();
    let words: BTreeSet<_> =
        all.iter().map(|ask| ask["command"]["args"].as_array().unwrap()[1].to_string()).collect();
    assert_eq!(words.len(), 3, "{all:?}");
    gated.tell(&["approve", id(&all[0])]).expect_code(0);
    gated.tell(&["deny", id(&all[1]), "--reason", "not this one"]).expect_code(0);
    gated.tell(&["deny", id(&all[2])]).expect_code(0);
    let ran = running.wait().expect_code(0).expect_err("not this one");
    let lines: Vec<_> = ran.out().lines().map(str::to_owned).collect();
    let count = |line: &str| lines.iter().filter(|other| *other == line).count();
    assert_eq!((count("ran 156"), count("asked 126"), count("asked 55")), (64, 2, 1), "{ran}");
    let started = gated.records("exec.intent");
    assert!(started >= 64 * 156, "{started}");
    assert_eq!(started, gated.records("exec.result"), "every intent has its result");
    assert_eq!(gated.records("denied"), 2);
}

fn an_ask_holds_up_nobody_else() {
    let gated = Gated::new("ask");
    let running = gated
        .sh("(./probe push main; echo answered $?) & for i in 1 2 3 4 5; do ./probe $i; done; \
             echo others went on; wait")
        .start();
    running.expect_output("others went on");
    let ask = the_ask(&gated.world);
    assert_eq!(ask["command"]["args"], serde_json::json!(["push", "main"]));
    assert!(ask["command"]["program"].as_str().unwrap().ends_with("/project/probe"), "{ask}");
    assert_eq!(ask["rules"][0]["id"], "no-push");
    assert_eq!(ask["reason"], "pushing can't be undone");
    assert!(ask["started_by"][0].as_str().unwrap().contains("sh -c"), "{ask}");
    gated.tell(&["approve", id(&ask)]).expect_code(0);
    running.wait().expect_code(0).expect_out("others went on\nanswered 55");
}

fn an_answer_for_the_run_is_for_that_action() {
    let gated = Gated::new("ask");
    let running = gated
        .sh("./probe push a; ./probe push a; ./probe push a; echo three; ./probe push b; echo $?")
        .start();
    gated.tell(&["approve", id(&the_ask(&gated.world)), "--scope", "run"]).expect_code(0);
    running.expect_output("three");
    let other = the_ask(&gated.world);
    assert_eq!(other["command"]["args"][1], "b");
    gated.tell(&["deny", id(&other), "--reason", "only a"]).expect_code(0);
    running.wait().expect_code(0).expect_out("three\n126").expect_err("only a");
}

fn an_ask_that_nobody_answers_is_denied_in_time() {
    let gated = Gated::new("ask");
    let owner = "[approvals]\ntimeout = \"1s\"\n";
    gated.world.write("loop-home/config.toml", owner);
    let ran = gated.sh("./probe push; echo $?").run().expect_code(0).expect_out("126");
    assert!(ran.err().contains("timeout") || ran.err().contains("nobody answered"), "{ran}");
}

/// Nobody can stop what another traces, so it can't be compared. Without rules, tracing works.
fn a_program_that_is_traced_runs_no_other() {
    need("strace");
    let gated = Gated::new("deny");
    let line = ["strace", "-f", "-o", "/dev/null", "sh", "-c", "./probe fine; echo $?"];
    let ran = gated.launch(&line).run();
    assert!(ran.code() != Some(0) && ran.err().contains("traced"), "{ran}");
    gated
        .world
        .exec(gated.world.path().join("project"), &line)
        .run()
        .expect_code(0)
        .expect_out("0");
}

/// The kernel gives a process one place where questions are answered: seccomp(2).
fn a_filter_of_its_own_only_tightens() {
    need("gcc");
    let gated = Gated::new("deny");
    gated.write(
        "own.c",
        "#include <errno.h>\n#include <linux/filter.h>\n#include <linux/seccomp.h>\n\
         #include <stdio.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
         int main(void) {\n\
         struct sock_filter ask[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF}};\n\
         struct sock_filter allow[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};\n\
         struct sock_fprog one = {1, ask}, other = {1, allow};\n\
         long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &one);\n\
         printf(\"%s\\n\", fd < 0 && errno == EBUSY ? \"busy\" : \"taken\");\n\
         if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &other)) return 2;\n\
         execl(\"./probe\", \"probe\", \"push\", NULL);\n\
         printf(\"%d\\n\", errno);\nreturn 0; }\n",
    );
    let ran = gated.sh("gcc -o own own.c && ./own").run().expect_code(0);
    ran.expect_out("busy\n1").expect_err("pushing can't be undone");
}

fn real_tools_work_under_rules() {
    for program in ["make", "gcc", "node", "git", "bash"] {
        need(program);
    }
    let gated = Gated::new("deny");
    gated.write("main.c", "int helper(void);\nint main(void) { return helper(); }\n");
    gated.write("helper.c", "int helper(void) { return 0; }\n");
    gated.write(
        "Makefile",
        "main: main.o helper.o\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -c -o $@ $<\ncheck: main\n\t./main\n",
    );
    let script = "set -e; make -s -j2 check; git init -q /tmp/other; git -C /tmp/other status --short; \
                  git add -A; git commit -qm work; git log --oneline | wc -l; \
                  node -e 'const {execFileSync, spawnSync} = require(\"child_process\"); \
                    execFileSync(\"./probe\", [\"fine\"]); \
                    console.log(spawnSync(\"./probe\", [\"push\"]).error.code)'; \
                  python3 -c 'import subprocess, concurrent.futures as f; \
                    p = f.ThreadPoolExecutor(8); \
                    print(sum(p.map(lambda n: subprocess.call([\"./probe\", str(n)]), range(40))))'; \
                  bash -c 'for i in {1..20}; do ./probe $i | cat; done; echo bash'; \
                  gcc -static -o static probe.c 2>/dev/null || cp probe static; ./static; echo static";
    std::fs::copy(
        format!("{}/tests/probes/probe.c", env!("CARGO_MANIFEST_DIR")),
        gated.project.join("probe.c"),
    )
    .unwrap();
    let ran = gated.launch(&["bash", "-c", script]).run().expect_code(0);
    assert_eq!(ran.out(), "2\nEPERM\n0\nbash\nstatic", "{ran}");
}

fn rules_hold_for_every_command_of_a_session() {
    let gated = Gated::new("deny");
    let run = |line: &[&str]| {
        let flags = ["--profile", &gated.profile, "--session", "warm"];
        gated.world.exec_with(&gated.project, &flags, line).run()
    };
    run(&["./probe", "fine"]).expect_code(0);
    for _ in 0..2 {
        run(&["sh", "-c", "./probe push"]).expect_code(126).expect_err("pushing");
        run(&["./probe", "push"]).expect_code(126);
        run(&["sh", "-c", "./probe fine"]).expect_code(0);
    }
    // Each is told of its own refusals, and of none before.
    let reported = |script: &str| {
        let report = gated.world.path().join("report.json");
        let report = report.to_str().unwrap();
        let flags = ["--profile", &gated.profile, "--session", "warm", "--report", report];
        gated.world.exec_with(&gated.project, &flags, &["sh", "-c", script]).run();
        let report: serde_json::Value =
            serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
        assert!(report.get("changes").is_none(), "{report}");
        report["denials"].as_array().unwrap().len()
    };
    let denials = ["./probe push x", "./probe fine", "./probe push y; ./denied"].map(reported);
    assert_eq!(denials, [1, 0, 2]);
    gated.tell(&["stop", "warm"]).expect_code(0);
}

/// What was approved and could not be started is not started later by somebody else.
fn an_approved_command_that_could_not_start_leaves_nothing_behind() {
    let gated = Gated::new("ask");
    let [here, away] = ["probe", "away"].map(|name| gated.project.join(name));
    std::fs::rename(&here, &away).unwrap();
    let in_session = |line: &[&str]| {
        let profile = gated.profile.as_str();
        let flags = ["--profile", profile, "--mode", "direct", "--session", "dev", "--quiet"];
        gated.world.exec_with(&gated.project, &flags, line)
    };
    let script = "echo ready; until test -e go; do sleep 0.05; done; ./probe push a; echo code-$?";
    let later = in_session(&["sh", "-c", script]).start();
    later.expect_output("ready");
    let first = in_session(&["./probe", "push", "a"]).start();
    gated.tell(&["approve", id(&the_ask(&gated.world))]).expect_code(0);
    first.wait().expect_code(127);
    std::fs::rename(&away, &here).unwrap();
    gated.write("go", "");
    gated.tell(&["deny", id(&the_ask(&gated.world))]).expect_code(0);
    later.wait().expect_code(0).expect_out("ready\ncode-126");
    gated.tell(&["stop", "dev"]).expect_code(0);
}

fn a_killed_gate_ends_the_sandbox() {
    let gated = Gated::new("deny");
    let script = "echo up; while :; do ./probe x || exit; echo x >> ../trace; done";
    let running = gated.sh(script).start();
    running.expect_output("up");
    let watch = testkit::Remains::watch();
    running.signal(rustix::process::Signal::KILL);
    let ran = running.wait();
    assert_eq!(ran.signal(), Some(9), "{ran}");
    watch.expect_none();
}

fn launch_in_direct(world: &World, script: &str) -> Launch {
    let project = world.path().join("project");
    world.exec_with(project, &["--mode", "direct"], &["bash", "-c", script])
}

fn in_direct(world: &World, script: &str) -> Ran {
    launch_in_direct(world, script).run().expect_no_panic()
}

fn start_in_direct(world: &World, script: &str) -> Running {
    launch_in_direct(world, script).start()
}

fn direct_mode_changes_the_project_at_once() {
    let world = World::new();
    let project = world.repository("project");
    let running = start_in_direct(
        &world,
        "echo made > new.txt; echo there; while ! [ -e go ]; do sleep 0.02; done; cat go",
    );
    running.expect_output("there");
    assert_eq!(project.read("new.txt"), "made\n");
    project.write("go", "from outside\n");
    running.wait().expect_code(0).expect_out("there\nfrom outside");
    // Nothing but the project: the rest of the view is as in any other mode.
    let outside = world.path().join("outside.txt");
    let script = format!("echo x > {} && echo written", outside.display());
    assert!(!in_direct(&world, &script).out().contains("written") || !outside.exists());
    assert!(!outside.exists());
}

fn what_direct_mode_changed_is_said_to_be_in_the_project() {
    let world = World::new();
    let project = world.repository("project");
    let ran = in_direct(&world, "echo made > new.txt").expect_code(0);
    ran.expect_err("what it changed is in the project already");
    let tell = |arguments: &[&str]| world.run_loop(project.path(), arguments).run();
    tell(&["diff"]).expect_code(0).expect_err("no change set");
    assert!(tell(&["diff", "--stat"]).expect_code(0).out().contains("no change set"));
    tell(&["apply"]).expect_code(1).expect_err("in the project already");
    let dropped = tell(&["discard"]).expect_code(1).expect_err("in the project already");
    assert!(!dropped.out().contains("dropped"), "{dropped}");
    assert!(tell(&["runs"]).expect_code(0).out().contains("direct"));
    assert_eq!(project.read("new.txt"), "made\n");
}

fn direct_mode_does_daily_work() {
    need("git");
    let world = World::new();
    let project = world.repository("project");
    project.write("a.txt", "a\n");
    project.commit("first");
    let ran = in_direct(
        &world,
        "set -e; mkdir -p d/e; echo b > d/b.txt; mv d/b.txt d/e/c.txt; ln -s c.txt d/e/l; \
         ln d/e/c.txt d/e/h; chmod 755 d/e/c.txt; touch -d 2001-01-01 d/e/c.txt; cp -p a.txt d/a.txt; \
         cp -a d copy; rm -r copy; truncate -s 1 d/a.txt; test -w a.txt; umask 077; echo x > private; \
         sed -i s/a/z/ a.txt; : > empty; echo more >> empty; cat < empty > /dev/null; \
         python3 -c 'import os, tempfile; d = tempfile.mkdtemp(dir=\".\"); os.rmdir(d); \
           f = tempfile.NamedTemporaryFile(dir=\".\"); f.write(b\"x\"); f.close()'; \
         git config user.name other; git add -A; git commit -qm second; git checkout -q -b branch; \
         git remote add o https://example.com/x.git; git stash list; git gc -q; git init -q sub; \
         mkfifo pipe; (echo through > pipe &) ; cat pipe; rm pipe; \
         tar c d | (mkdir t; cd t; tar x); rm -r t; echo done",
    );
    ran.expect_code(0).expect_out("through\ndone");
    assert_eq!(project.read("a.txt"), "z\n");
    assert_eq!(project.git(&["log", "-1", "--format=%s %an"]).trim(), "second other");
    assert_eq!(project.git(&["branch", "--show-current"]).trim(), "branch");
    let modes = |name: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(project.path().join(name)).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!((modes("private"), modes("d/e/c.txt"), modes("d")), (0o600, 0o755, 0o755));
    assert!(project.path().join("d/e/l").is_symlink());
}

fn a_guarded_file_is_written_as_it_was_shown() {
    let world = World::new();
    let project = world.repository("project");
    project.write(".envrc", "one\n");
    let script = "printf 'two\\n' > next; mv next .envrc; echo $?; test -e next; echo $?; \
                  printf 'three\\n' > next; mv next .envrc; echo $?; rm .envrc; echo $?";
    let running = start_in_direct(&world, script);
    let ask = the_ask(&world);
    let diff = ask["diff"].as_str().unwrap();
    assert!(diff.contains("-one\n+two") && diff.contains(".envrc"), "{ask}");
    assert_eq!(project.read(".envrc"), "one\n");
    world.run_loop(project.path(), &["approve", id(&ask)]).run().expect_code(0);
    wait_until("the write", || project.read(".envrc") == "two\n");
    let second = the_ask(&world);
    assert!(second["diff"].as_str().unwrap().contains("-two\n+three"), "{second}");
    let no = ["deny", id(&second), "--reason", "two is enough"];
    world.run_loop(project.path(), &no).run().expect_code(0);
    let third = the_ask(&world);
    assert!(third["diff"].as_str().unwrap().contains("-two"), "{third}");
    world.run_loop(project.path(), &["approve", id(&third)]).run().expect_code(0);
    let ran = running.wait().expect_code(0).expect_err("two is enough");
    assert_eq!(ran.out(), "0\n1\n1\n0", "{ran}");
    assert!(!project.has(".envrc"));
}

/// What was shown does not change any more, and nothing gets there without being shown.
fn a_guarded_file_is_reached_by_no_other_way() {
    let world = World::new();
    let project = world.repository("project");
    project.write(".git/hooks/pre-push", "#!/bin/sh\n");
    let before = project.read(".git/config");
    world.write("loop-home/config.toml", "[approvals]\ntimeout = \"1s\"\n");
    let script = "echo x > .git/hooks/pre-commit; echo x >> .git/config; : > .envrc; \
        truncate -s 0 .git/config; ln .git/config linked; ln -s $PWD/.git/config way; echo x >> way; \
        git config alias.x '!touch /tmp/x'; git config core.fsmonitor ./x; \
        mkdir -p x/hooks; echo y > x/hooks/pre-commit; mv x y; mv y/hooks .git/hooks2; \
        mkdir -p .vs; echo z > .vs/tasks.json; mv .vs .vscode; ln -s .vs .vscode; \
        chmod +x .git/hooks/pre-push; cp /bin/true t; mv t .git/hooks/t; mv .git/config moved; \
        python3 -c \"import os; os.replace('y', '.claude')\"; \
        cd .git/hooks && echo x > post-commit; cd ../..; \
        python3 -c \"import os; f = os.open('.git/config', os.O_RDONLY); \
          os.open('/proc/self/fd/%d' % f, os.O_WRONLY)\"; \
        mkdir new && git init -q new && echo x > new/.git/hooks/pre-commit; \
        mknod .envrc p; mkfifo .envrc; chmod u+s t; \
        mount -o remount,rw . 2>/dev/null; echo end";
    let ran = in_direct(&world, script).expect_code(0);
    assert!(ran.out().ends_with("end"), "{ran}");
    assert_eq!(project.read(".git/config"), before, "{ran}");
    for name in [".envrc", ".vscode", ".claude", ".git/hooks/pre-commit", "linked", "moved"] {
        assert!(!project.has(name), "{name}\n{ran}");
    }
    for name in [".git/hooks/post-commit", ".git/hooks/t", "new/.git/hooks/pre-commit"] {
        assert!(!project.has(name), "{name}\n{ran}");
    }
    use std::os::unix::fs::PermissionsExt as _;
    let hook = std::fs::metadata(project.path().join(".git/hooks/pre-push")).unwrap();
    assert_eq!(hook.permissions().mode() & 0o111, 0, "{ran}");
    assert_eq!(temporary_files(project.path()), Vec::<String>::new());
}

/// A mediated tree is shut for everybody: a call that the gate does not carry out, such as bind(2),
/// changes nothing there, and works elsewhere.
fn what_the_gate_does_not_carry_out_fails_in_its_tree() {
    let world = World::new();
    let project = world.repository("project");
    let script = "for at in ./socket /tmp/socket; do python3 -c 'import socket, sys; \
                  socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $at 2>/dev/null; echo $?; done";
    let ran = in_direct(&world, script).expect_code(0);
    assert_eq!(ran.out(), "1\n0", "{ran}");
    assert!(!project.has("socket"), "{ran}");
}

/// What passes in direct mode without a question does not pass a rule that wants one.
fn a_rule_on_gits_configuration_is_asked_about() {
    let world = World::new();
    let project = world.repository("project");
    let rule = "[approvals]\ntimeout = \"1s\"\n[[rule]]\nid = \"mine\"\naction = \"open\"\n\
                path = \"**/.git/config\"\naccess = \"write\"\nverdict = \"ask\"\n";
    let script = "git config user.name other; echo $?";
    let passes = in_direct(&world, script).expect_code(0);
    assert_eq!(passes.out(), "0", "{passes}");
    let before = project.read(".git/config");
    world.write("loop-home/config.toml", rule);
    let asked = in_direct(&world, &script.replace("other", "third")).expect_code(0);
    assert_ne!(asked.out(), "0", "{asked}");
    assert_eq!(project.read(".git/config"), before, "{asked}");
}

fn temporary_files(project: &Path) -> Vec<String> {
    let names = std::fs::read_dir(project).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".loop-")).collect()
}

fn a_file_rule_holds_in_an_overlay() {
    let world = World::new();
    let project = world.repository("project");
    project.write("keep/a.txt", "a\n");
    let rule = "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[rule]]\nid = \"keep\"\n\
                action = \"open\"\npath = \"**/keep/**\"\naccess = \"write\"\nverdict = \"deny\"\n\
                reason = \"kept as it is\"\n";
    let profile = world.write("profile.toml", rule);
    let script = "echo b > other.txt; echo b > keep/a.txt; rm keep/a.txt; mv keep/a.txt x; \
                  echo n > keep/new; mv keep moved; mkdir sub; mv keep sub; \
                  cat keep/a.txt other.txt; echo t > /tmp/t; cat /tmp/t";
    let flags = ["--profile", profile.to_str().unwrap()];
    let ran = world.exec_with(&project, &flags, &["bash", "-c", script]).run().expect_code(0);
    assert_eq!(ran.out(), "a\nb\nt", "{ran}");
    assert!(ran.err().contains("kept as it is"), "{ran}");
    let diff = world.run_loop(project.path(), &["diff"]).run().expect_code(0).out();
    assert!(diff.contains("other.txt") && !diff.contains("keep/"), "{diff}");
}

fn a_file_rule_is_not_evaded_by_moving_what_is_around_it() {
    let world = World::new();
    let project = world.repository("project");
    project.write("keep/a.txt", "a\n");
    project.write("other/b.txt", "b\n");
    let rule = "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n[[rule]]\nid = \"keep\"\n\
                action = \"open\"\npath = \"**/keep/a.txt\"\naccess = \"write\"\nverdict = \"deny\"\n";
    let profile = world.write("profile.toml", rule);
    let script = "mv keep away && echo x > away/a.txt && mv away keep; \
                  mkdir new deep; echo x > new/a.txt; mv new deep/keep; mv other others && echo moved";
    for mode in ["overlay", "direct"] {
        let flags = ["--mode", mode, "--profile", profile.to_str().unwrap()];
        let test = "; cat keep/a.txt; test -e deep/keep/a.txt; echo $?";
        let line = ["bash", "-c", &(script.to_owned() + test)];
        let ran = world.exec_with(&project, &flags, &line).run().expect_code(0);
        assert_eq!(ran.out(), "moved\na\n1", "{mode}\n{ran}");
    }
}

fn a_rule_that_is_not_watched_is_refused() {
    let world = World::new();
    let project = world.repository("project");
    let rule = |rest: &str| {
        format!("[[rule]]\nid = \"secret\"\naction = \"open\"\npath = \"**/secret\"\n{rest}")
    };
    let texts = [
        rule("verdict = \"deny\"\n"),
        rule("access = \"read\"\nverdict = \"ask\"\n"),
        "[defaults]\nopen = \"deny\"\n".to_owned(),
    ];
    for text in texts {
        let head = "[profile]\nname = \"mine\"\nextends = \"offline\"\n\n";
        let profile = world.write("profile.toml", head.to_owned() + &text);
        let flags = ["--profile", profile.to_str().unwrap()];
        let ran = world.exec_with(&project, &flags, &["true"]).run().expect_code(125);
        ran.expect_err("reading is not watched").expect_err("profile.toml:");
    }
}
