//! The Git gate as people meet it: the real git client inside, `git http-backend` outside.

use std::path::PathBuf;

use serde_json::Value;
use testkit::{Ran, need, wait_until};

use super::internet::{Certificate, HOST, Internet, OTHER, Origin, records};

crate::tests![
    a_feature_branch_is_pushed_with_the_hosts_credential,
    what_no_rule_allows_is_refused_before_the_credential_is_used,
    a_client_reads_the_rule_the_reason_and_the_next_step,
    where_nothing_may_be_pushed_discovery_says_so,
    a_destination_that_cannot_be_reached_is_said_in_gits_way,
    what_git_never_sends_is_refused,
    an_update_of_anothers_branch_must_follow_from_it,
    a_person_is_shown_what_a_push_brings,
    a_person_may_take_longer_than_the_server_waits,
    a_server_that_left_meanwhile_is_said_in_gits_way,
    a_lease_that_ended_is_not_used_for_a_push,
    a_server_that_answers_garbage_leaves_the_outcome_unknown,
    a_push_that_is_interrupted_has_a_result,
    pushes_over_http_2_are_judged_the_same,
    pushes_over_plain_http_are_judged_too,
    a_large_push_is_streamed,
];

/// The credential. Nothing inside may know it.
const CANARY: &str = "canary-7f3a-the-git-token";
const SITE: &str = "/git/site.git";

/// A person who may push branches below `loop/`, to a repository that wants a password.
struct Pushing {
    internet: Internet,
    origin: Origin,
}

impl Pushing {
    fn new() -> Self {
        Self::with("[git]\npush = [\"refs/heads/loop/*\"]\n")
    }

    /// With these rules about pushes.
    fn with(rules: &str) -> Self {
        let internet = Internet::new();
        let origin = internet.origin(Certificate::Good);
        Self::at(internet, origin, rules)
    }

    fn at(mut internet: Internet, origin: Origin, rules: &str) -> Self {
        need("git");
        internet.grant(HOST, 443, &origin, &format!("\n{rules}"));
        let project = internet.world.repository("project");
        project.git(&["branch", "-M", "main"]);
        project.git(&["branch", "loop/theirs"]);
        let bare = internet.www().join("git/site.git");
        project.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        project.git(&["remote", "add", "origin", &format!("https://{HOST}{SITE}")]);
        std::fs::write(internet.www().join("git-token"), CANARY).unwrap();
        let lease = ["lease", "add", "site", "--host", HOST, "--path-prefix", "/git"];
        let lease = [&lease[..], &["--basic", "x-access-token", "--from", "env:KEY"]].concat();
        internet.tell(&lease).expect_code(0);
        Self { internet, origin }
    }

    fn bare(&self) -> PathBuf {
        self.internet.www().join("git/site.git")
    }

    /// The references of the repository outside.
    fn refs(&self) -> String {
        let bare = self.bare();
        let line = ["git", "--git-dir", bare.to_str().unwrap(), "for-each-ref"];
        let line = [&line[..], &["--format=%(refname) %(subject)"]].concat();
        self.internet.world.outside(self.internet.world.path(), &line).run().out()
    }

    fn launch(&self, script: &str) -> testkit::Launch {
        let script = format!("export GIT_TERMINAL_PROMPT=0\n{script}");
        self.internet.exec_with(&["--lease", "site"], &["bash", "-c", &script]).env("KEY", CANARY)
    }

    /// Runs a script in the project; nothing that it says is the credential.
    fn sh(&self, script: &str) -> Ran {
        let ran = self.launch(script).run().expect_no_panic();
        assert!(!format!("{ran}").contains(CANARY), "{ran}");
        ran
    }

    /// What a person is asked, once that is something.
    fn await_ask(&self) -> Value {
        let mut ask = Value::Null;
        wait_until("an ask", || {
            let all = self.internet.tell(&["approvals", "--json"]).json();
            ask = all.get(0).cloned().unwrap_or_default();
            !ask.is_null()
        });
        ask
    }

    /// How many pushes reached the server, probes included.
    fn pushed(&self) -> usize {
        let requests = self.origin.entries("git");
        let pushes = requests.iter().filter(|one| {
            one["path"].as_str().is_some_and(|path| path.contains("git-receive-pack"))
        });
        pushes.count()
    }

    fn results(&self) -> Vec<String> {
        let results = self.internet.records("git-push.result");
        let outcome = |body: &Value| body["result"]["outcome"].as_str().unwrap().to_owned();
        results.iter().map(outcome).collect()
    }

    fn denials(&self) -> Vec<Value> {
        let denied = self.internet.records("denied");
        denied.into_iter().filter(|body| body["action"]["action"] == "git-push").collect()
    }
}

const COMMIT: &str = "git config user.name Ada; git config user.email ada@example.com; \
    commit() { echo \"$1\" >> file.txt; git add file.txt; git commit -qm \"$1\"; }; ";

fn a_feature_branch_is_pushed_with_the_hosts_credential() {
    let pushing = Pushing::new();
    let script = format!(
        "{COMMIT} set -e; env > env.txt; commit One; git push origin HEAD:loop/fix-123; \
         commit Two; git push -q origin HEAD:loop/fix-123; \
         git commit -q --amend -m Three; git push -q --force origin HEAD:loop/fix-123; \
         git ls-remote -q origin loop/fix-123 | wc -l; git clone -q $(git remote get-url origin) x; \
         git push -q origin :loop/fix-123 && echo deleted; grep -c canary env.txt"
    );
    let ran = pushing.sh(&script);
    assert_eq!(ran.out(), "1\n0", "{ran}");
    assert!(ran.err().contains("default git-push"), "{ran}");
    assert!(pushing.refs().contains("refs/heads/loop/fix-123 Three"), "{}", pushing.refs());
    assert_eq!(pushing.results(), ["changed"; 3]);
    let intents = pushing.internet.records("git-push.intent");
    let changes: Vec<_> = intents.iter().map(|one| &one["action"]["change"]).collect();
    assert_eq!(changes, ["create", "update", "update"]);
    assert_eq!(intents[0]["action"]["repository"], "git/site");
    assert_eq!(intents[0]["action"]["moves"]["old"], "0".repeat(40));
    assert_eq!(intents[1]["action"]["moves"]["old"], intents[0]["action"]["moves"]["new"]);
    for place in [pushing.internet.world.loop_home(), pushing.internet.world.config_home()] {
        let line = ["grep", "-rlaF", CANARY, place.to_str().unwrap()];
        let world = &pushing.internet.world;
        world.outside(world.path(), &line).run().expect_code(1).expect_out("");
    }
    pushing.internet.verify();
}

/// Every command that would move something else, and nothing of it is sent.
fn what_no_rule_allows_is_refused_before_the_credential_is_used() {
    let commands = [
        "git push origin HEAD:main",
        "git push origin HEAD:refs/heads/Main",
        "git push origin HEAD:refs/heads/loop/deep/er",
        "git push origin HEAD:refs/heads/LOOP/x",
        "git push origin HEAD:refs/heads/loop/Theirs",
        "git push origin HEAD:refs/for/main",
        "git push origin :main",
        "git push origin :loop/theirs",
        "git tag v1 && git push origin v1",
        "git push --mirror origin",
        "git push --all origin",
        "git push --tags origin && git tag v2 && git push --tags origin",
        "git push origin HEAD:loop/a HEAD:main",
        "git push --atomic origin HEAD:loop/a HEAD:loop/b HEAD:refs/tags/x",
        "git push --force origin other:loop/theirs",
        "git push --force-with-lease=loop/theirs:loop/theirs origin other:loop/theirs",
        "git push -o ci.skip origin HEAD:loop/a",
    ];
    let pushing = Pushing::new();
    let config =
        ["git", "--git-dir", pushing.bare().to_str().unwrap(), "config"].map(str::to_owned);
    let set: Vec<&str> = config.iter().map(String::as_str).collect();
    let set = [&set[..], &["receive.advertisePushOptions", "true"]].concat();
    pushing.internet.world.outside(pushing.internet.world.path(), &set).run().expect_code(0);
    let before = pushing.refs();
    let tries = commands.map(|command| {
        format!("({command}) > out 2>&1; code=$?; grep -q 'by Loop' out || {{ cat out; }}; echo \"$code {command}\"")
    });
    let script = format!(
        "{COMMIT} commit One; git checkout -q --orphan other; git commit -qm Other; \
         git checkout -q main\n{}",
        tries.join("\n")
    );
    let ran = pushing.sh(&script);
    let expected = commands.map(|command| format!("1 {command}"));
    assert_eq!(ran.out(), expected.join("\n"), "{ran}");
    assert_eq!(pushing.refs(), before);
    assert_eq!(pushing.pushed(), 0, "{}", pushing.origin.log());
    assert!(pushing.denials().len() >= commands.len() - 1, "{:#?}", pushing.denials());
    assert!(pushing.internet.records("lease.intent").len() <= pushing.origin.requests().len());
    pushing.internet.verify();
}

fn a_client_reads_the_rule_the_reason_and_the_next_step() {
    let pushing = Pushing::with(
        "[git]\npush = [\"refs/heads/**\"]\n\n[[rule]]\nid = \"keep-main\"\naction = \"git-push\"\n\
         refs = [\"refs/heads/main\"]\nverdict = \"deny\"\nreason = \"main is for people\"\n",
    );
    let script = format!(
        "{COMMIT} commit One; git push origin HEAD:main HEAD:x; echo code-$?; \
         git push --porcelain origin HEAD:main 2>&1; git push origin HEAD:refs/tags/v1"
    );
    let ran = pushing.sh(&script);
    assert!(ran.out().starts_with("code-1\n"), "{ran}");
    for part in [
        "remote: denied by Loop: main is for people (keep-main",
        "! [remote rejected] HEAD -> main (denied by Loop: main is for people (keep-main",
        "! [remote rejected] HEAD -> x (another reference of this push is refused)",
        "remote: next: extend profile",
        "push = [\"refs/tags/v1\"]",
    ] {
        assert!(ran.err().contains(part), "{part}\n{ran}");
    }
    let porcelain =
        "!\tHEAD:refs/heads/main\t[remote rejected] (denied by Loop: main is for people";
    assert!(ran.out().contains(porcelain), "{ran}");
    assert_eq!(pushing.pushed(), 0);
}

fn where_nothing_may_be_pushed_discovery_says_so() {
    let pushing = Pushing::with("[git]\npush = []\n");
    let ran = pushing.sh("git push origin HEAD:loop/x; echo code-$?; git fetch origin && echo ok");
    assert_eq!(ran.out(), "code-128\nok", "{ran}");
    assert!(ran.err().contains("remote: denied by Loop: no push to"), "{ran}");
    assert!(ran.err().contains("remote: next: extend profile"), "{ran}");
    assert!(!pushing.origin.log().contains("service=git-receive-pack"));
    pushing.internet.verify();
}

fn a_destination_that_cannot_be_reached_is_said_in_gits_way() {
    for (certificate, why) in [
        (Certificate::Expired, "expired"),
        (Certificate::SelfSigned, "nobody that is trusted here vouches for it"),
    ] {
        let internet = Internet::new();
        let origin = internet.origin(certificate);
        let pushing = Pushing::at(internet, origin, "[git]\npush = [\"refs/heads/loop/*\"]\n");
        for version in ["HTTP/1.1", "HTTP/2"] {
            let git = format!("git -c http.version={version}");
            let lines = ["ls-remote origin", "push origin HEAD:loop/x"];
            for line in lines.map(|line| format!("{git} {line}; echo code-$?")) {
                let ran = pushing.sh(&line);
                assert_eq!(ran.out(), "code-128", "{ran}");
                let said = format!("by Loop: the certificate of {HOST} is refused: ");
                assert!(ran.err().contains(&said) && ran.err().contains(why), "{ran}");
                assert!(ran.err().starts_with("remote: "), "{ran}");
                assert!(ran.err().contains("remote: next: if that is meant"), "{ran}");
            }
        }
        assert!(pushing.origin.requests().is_empty());
        pushing.internet.verify();
    }
}

/// Requests that no git makes, one after another, each on a connection of its own.
const RAW: &str = r#"
import socket, ssl, sys, zlib, gzip
HOST = sys.argv[1]
ZERO, ONE = "0" * 40, "1" * 40
TYPE = "application/x-git-receive-pack-request"
PACK = b"PACK\0\0\0\2\0\0\0\0" + bytes.fromhex("029d08823bd8a8eab510ad6ac75c823cfd3ed31e")
def pkt(text):
    data = text.encode() if isinstance(text, str) else text
    return b"%04x" % (len(data) + 4) + data
def line(ref, caps="report-status", old=ZERO, new=ONE):
    return pkt(f"{old} {new} {ref}\0{caps}")
def body(*lines, rest=PACK):
    return b"".join(lines) + b"0000" + rest
def ask(path, data=None, method=None, kind=TYPE, more="", chunked=False, raw=None):
    context = ssl.create_default_context()
    s = context.wrap_socket(socket.create_connection((HOST, 443)), server_hostname=HOST)
    s.settimeout(60)
    head = f"{method or ('GET' if data is None else 'POST')} {path} HTTP/1.1\r\nHost: {HOST}\r\n"
    if data is not None:
        head += f"Content-Type: {kind}\r\n"
        head += "Transfer-Encoding: chunked\r\n" if chunked else f"Content-Length: {len(data)}\r\n"
    if chunked:
        data = b"".join(b"1\r\n" + data[i:i+1] + b"\r\n" for i in range(len(data))) + b"0\r\n\r\n"
    try:
        s.sendall((head + more + "\r\n").encode() + (data or b""))
        got = b""
        while piece := s.recv(65536):
            got += piece
    except OSError:
        pass
    if got.startswith(b"HTTP/1.1 100 "):
        got = got.split(b"\r\n\r\n", 1)[1]
    first = got.split(b"\r\n")[0].decode()
    return first.split(" ")[1] + (" ng" if b"ng refs/" in got else "") + (" Loop" if b"Loop" in got else "")
SITE = "/git/site.git"
PUSH = SITE + "/git-receive-pack"
good = body(line("refs/heads/loop/raw"))
print("undiscovered", ask(PUSH, good))
print("discovery", ask(SITE + "/info/refs?service=git-receive-pack", more="Connection: close\r\n")[:3])
cases = {
  "forbidden": body(line("refs/heads/main")),
  "dots": body(line("refs/heads/loop/../main")),
  "one level": body(line("HEAD")),
  "case": body(line("refs/heads/MAIN")),
  "twice": body(line("refs/heads/loop/a"), pkt(f"{ZERO} {ONE} refs/heads/loop/a")),
  "two cases": body(line("refs/heads/loop/a"), pkt(f"{ZERO} {ONE} refs/heads/loop/A")),
  "second forbidden": body(line("refs/heads/loop/a"), pkt(f"{ZERO} {ONE} refs/heads/main")),
  "second NUL": body(line("refs/heads/loop/a"), line("refs/heads/main")),
  "upper length": b"00A0" + good[4:],
  "length 3": b"0003" + good,
  "short length": b"0010" + good[4:],
  "long length": b"ffff" + good[4:],
  "options": body(line("refs/heads/loop/a", "push-options"), rest=pkt("x") + b"0000" + PACK),
  "certificate": body(pkt("push-cert\0x\n"), line("refs/heads/loop/a")),
  "unknown capability": body(line("refs/heads/loop/a", "report-status weird")),
  "no pack": body(line("refs/heads/loop/a"), rest=b"what"),
  "two lists": body(line("refs/heads/loop/a"), rest=body(line("refs/heads/main"))),
  "delete with more": body(line("refs/heads/loop/a", old=ONE, new=ZERO), rest=b"0000"),
  "unchanged": body(line("refs/heads/loop/a", old=ONE, new=ONE)),
  "shallow only": body(pkt(f"shallow {ONE}"), rest=b""),
  "cut": good[:30],
  "nothing": b"",
  "probe and more": b"00000000",
  "not text": body(pkt(b"\xff\xfe")),
  "many": body(*[line(f"refs/heads/loop/{n}") if n == 0 else pkt(f"{ZERO} {ONE} refs/heads/loop/{n}") for n in range(300)]),
  "endless": b"".join(pkt(f"{ZERO} {ONE} refs/heads/loop/{n}") for n in range(1000000)),
}
for name, data in cases.items():
    print(name, ask(PUSH, data))
print("chunked", ask(PUSH, cases["forbidden"], chunked=True))
print("expect", ask(PUSH, cases["forbidden"], more="Expect: 100-continue\r\n"))
print("gzip", ask(PUSH, gzip.compress(good), more="Content-Encoding: gzip\r\n"))
print("type", ask(PUSH, good, kind="text/plain"))
print("method", ask(PUSH, good, method="PUT"))
print("get", ask(PUSH, None))
for spelling in ["/git/site.git/git%2dreceive-pack", "/git/site.git//git-receive-pack",
                 "/git//site.git/git-receive-pack", "/git/./site.git/git-receive-pack",
                 "/git/x/../site.git/git-receive-pack", "/git/site.git/git-receive-pack?x=1",
                 "/git/site.git/git-receive-pack/", "/git/s%69te.git/git-receive-pack",
                 "/git/site.git/%67%69t-receive-pack", "/git/site.git/git%252dreceive-pack"]:
    print(spelling, ask(spelling, good))
print("other type", ask("/git/anything", good))
"#;

fn what_git_never_sends_is_refused() {
    let pushing = Pushing::new();
    let before = pushing.refs();
    let line = ["/usr/bin/python3", "-c", RAW, HOST];
    let launch = pushing.internet.exec_with(&["--lease", "site"], &line).env("KEY", CANARY);
    let ran = launch.run().expect_no_panic().expect_code(0);
    let out = ran.out();
    for line in out.lines() {
        let refused = line.ends_with(" 403 Loop") || line.ends_with(" 200 ng Loop");
        assert!(refused || line == "discovery 200", "{line}\n{ran}");
    }
    assert!(out.lines().count() > 40, "{ran}");
    for reported in ["forbidden 200 ng", "chunked 200 ng", "second forbidden 200 ng", "case 200 ng"]
    {
        assert!(out.contains(reported), "{reported}\n{ran}");
    }
    assert_eq!(pushing.refs(), before);
    assert_eq!(pushing.pushed(), 0, "{}", pushing.origin.log());
    pushing.internet.verify();
}

fn an_update_of_anothers_branch_must_follow_from_it() {
    let pushing = Pushing::new();
    let script = format!(
        "{COMMIT} commit One; git push -q origin HEAD:loop/theirs; echo code-$?; \
         git checkout -q --orphan other; git commit -qm Other; \
         git push -q --force origin HEAD:loop/unrelated; echo code-$?"
    );
    let ran = pushing.sh(&script);
    assert_eq!(ran.out(), "code-0\ncode-0", "{ran}");
    assert!(pushing.refs().contains("refs/heads/loop/theirs One"), "{}", pushing.refs());
    let intents = pushing.internet.records("git-push.intent");
    assert_eq!(intents[0]["action"]["change"], "update");
    // Another run did not make it.
    let script = format!(
        "{COMMIT} git fetch -q origin; git reset -q --hard origin/loop/unrelated; commit Two; \
         git push origin HEAD:loop/unrelated; echo code-$?; \
         git push --force origin main:loop/theirs; echo code-$?"
    );
    let ran = pushing.sh(&script);
    assert_eq!(ran.out(), "code-1\ncode-1", "{ran}");
    assert!(ran.err().contains("changes = [\"force\"]"), "{ran}");
    assert!(pushing.refs().contains("refs/heads/loop/theirs One"), "{}", pushing.refs());
    let pushes = std::fs::read_dir(pushing.internet.run().join("pushes")).unwrap();
    assert_eq!(pushes.count(), 0, "nothing of a push is kept");
    pushing.internet.verify();
}

const ASK: &str = "[[rule]]\nid = \"ask-push\"\naction = \"git-push\"\n\
    refs = [\"refs/heads/loop/*\"]\nverdict = \"ask\"\nreason = \"others see it\"\n";

fn a_person_is_shown_what_a_push_brings() {
    let pushing = Pushing::with(ASK);
    let script = format!(
        "{COMMIT} commit One; mkdir .vscode; echo {{}} > .vscode/tasks.json; printf 'x\\0y' > bin; \
         git add -A; git commit -qm $'Two\\e[31m'; git push origin HEAD:loop/asked; echo code-$?; \
         git rev-parse HEAD"
    );
    for (answer, code) in [("deny", "code-1"), ("approve", "code-0")] {
        let running = pushing.launch(&script).start();
        let ask = pushing.await_ask();
        assert_eq!(pushing.pushed(), 0, "nothing is sent before");
        let notes = ask["notes"].to_string();
        for part in [
            "refs/heads/loop/asked",
            "new, at ",
            "2 commits, 3 files changed",
            "guarded: .vscode/tasks.json (editor settings)",
        ] {
            assert!(notes.contains(part), "{part}\n{ask:#}");
        }
        let list = ask["diff"].as_str().unwrap();
        for part in [" One\n", "Two\\x1b[31m", " file.txt | +1 -0\n", " bin | binary\n"] {
            assert!(list.contains(part), "{part}\n{list}");
        }
        pushing.internet.tell(&[answer, ask["id"].as_str().unwrap()]).expect_code(0);
        let ran = running.wait().expect_code(0);
        assert!(ran.out().starts_with(code), "{ran}");
        if answer == "approve" {
            let approved = pushing.internet.records("git-push.intent").remove(0);
            let head = ran.out().lines().last().unwrap().to_owned();
            assert_eq!(approved["action"]["moves"]["new"], head);
        } else {
            assert!(ran.err().contains("denied by Loop: denied by"), "{ran}");
        }
        pushing.internet.verify();
    }
    assert!(pushing.refs().contains("refs/heads/loop/asked Two"), "{}", pushing.refs());
}

fn a_person_may_take_longer_than_the_server_waits() {
    need("node");
    for version in ["HTTP/1.1", "HTTP/2"] {
        let internet = Internet::new();
        std::fs::write(internet.www().join("patience"), "2").unwrap();
        let origin = match version {
            "HTTP/2" => internet.git_http2_origin(),
            _ => internet.origin(Certificate::Good),
        };
        let pushing = Pushing::at(internet, origin, ASK);
        let script = format!("{COMMIT} commit One; git push origin HEAD:loop/late; echo code-$?");
        let running = pushing.launch(&script).start();
        let ask = pushing.await_ask();
        // Long enough for the server to close the connection on which the client asked.
        std::thread::sleep(std::time::Duration::from_secs(4));
        pushing.internet.tell(&["approve", ask["id"].as_str().unwrap()]).expect_code(0);
        let ran = running.wait().expect_code(0);
        assert_eq!(ran.out(), "code-0", "{version} {ran}");
        assert!(pushing.refs().contains("refs/heads/loop/late One"), "{}", pushing.refs());
        assert_eq!(pushing.internet.records("approval.answered").len(), 1, "{version}: asked once");
        let (begun, ended) =
            ["connect.intent", "connect.result"].map(|kind| pushing.internet.records(kind)).into();
        assert_eq!((begun.len(), ended.len(), pushing.pushed()), (2, 2, 1), "{version} {ended:#?}");
        let sent: Vec<_> =
            ended.iter().map(|one| one["result"]["sent"].as_u64().unwrap()).collect();
        assert!(sent.iter().all(|sent| *sent > 0), "{ended:#?}");
        assert_ne!(sent[0], sent[1], "each counts its own: {ended:#?}");
        pushing.internet.verify();
    }
}

fn a_server_that_left_meanwhile_is_said_in_gits_way() {
    let pushing = Pushing::with(ASK);
    let script = format!("{COMMIT} commit One; git push origin HEAD:loop/gone; echo code-$?");
    let running = pushing.launch(&script).start();
    let ask = pushing.await_ask();
    let Pushing { internet, origin } = pushing;
    drop(origin);
    internet.tell(&["approve", ask["id"].as_str().unwrap()]).expect_code(0);
    let ran = running.wait().expect_code(0);
    assert_eq!(ran.out(), "code-1", "{ran}");
    assert!(ran.err().contains("remote: unreachable by Loop: registry.example.com"), "{ran}");
    let results = internet.records("git-push.result");
    assert_eq!(results.len(), 1, "{results:?}");
    assert_eq!(results[0]["result"]["outcome"], "not-sent", "{results:?}");
    internet.verify();
}

fn a_lease_that_ended_is_not_used_for_a_push() {
    let pushing = Pushing::new();
    let script = format!(
        "{COMMIT} commit One; git ls-remote -q origin main | wc -l; \
         until curl -sSf -o /dev/null https://{HOST}/gone 2>/dev/null; do sleep 0.1; done; \
         git push origin HEAD:loop/late; echo code-$?"
    );
    let running = pushing.launch(&script).start();
    running.expect_output("1\n");
    pushing.internet.tell(&["lease", "revoke", "site"]).expect_code(0);
    // The run looks four times a second.
    std::thread::sleep(std::time::Duration::from_millis(600));
    std::fs::write(pushing.internet.www().join("gone"), "").unwrap();
    let ran = running.wait().expect_no_panic();
    assert!(ran.out().ends_with("code-128"), "{ran}");
    assert!(ran.err().contains("remote: denied by Loop: site: the lease was revoked"), "{ran}");
    assert_eq!(pushing.pushed(), 0);
    let users = pushing.origin.entries("git");
    assert!(users.iter().all(|one| one["user"] == "ann"), "{users:?}");
    pushing.internet.verify();
}

fn a_server_that_answers_garbage_leaves_the_outcome_unknown() {
    let pushing = Pushing::new();
    let bare = pushing.bare();
    let garbage = bare.with_file_name("garbage.git");
    std::os::unix::fs::symlink(&bare, garbage).unwrap();
    let script = format!(
        "{COMMIT} commit One; git push https://{HOST}/git/garbage.git HEAD:loop/x; echo code-$?"
    );
    let ran = pushing.sh(&script);
    assert!(!ran.out().ends_with("code-0"), "{ran}");
    assert_eq!(pushing.results(), ["unknown"]);
    pushing.internet.verify();
}

fn a_push_that_is_interrupted_has_a_result() {
    let pushing = Pushing::with(ASK);
    let script = format!(
        "{COMMIT} commit One; git push origin HEAD:loop/x & echo started; \
         pushing=$!; until curl -sSf -o /dev/null https://{HOST}/asked 2>/dev/null; do sleep 0.1; done; \
         pkill git-remote-ht; kill $pushing; wait; echo gone; \
         until curl -sSf -o /dev/null https://{HOST}/done 2>/dev/null; do sleep 0.1; done"
    );
    let running = pushing.launch(&script).start();
    let waiting = || {
        let told = pushing.internet.tell(&["approvals", "--json"]).json();
        told.as_array().unwrap().len()
    };
    wait_until("an ask", || waiting() == 1);
    std::fs::write(pushing.internet.www().join("asked"), "").unwrap();
    running.expect_output("gone");
    wait_until("nobody is asked any more", || waiting() == 0);
    std::fs::write(pushing.internet.www().join("done"), "").unwrap();
    running.wait();
    assert_eq!(pushing.pushed(), 0);
    let run = pushing.internet.run();
    assert_eq!(records(&run, "git-push.intent").len(), 0);
    let denied = pushing.denials();
    assert_eq!(denied[0]["because"], "withdrawn", "{denied:?}");
    pushing.internet.verify();
}

fn pushes_over_http_2_are_judged_the_same() {
    need("node");
    let internet = Internet::new();
    let origin = internet.git_http2_origin();
    let pushing = Pushing::at(internet, origin, "[git]\npush = [\"refs/heads/loop/*\"]\n");
    let script = format!(
        "{COMMIT} commit One; export GIT_CURL_VERBOSE=1; \
         git push origin HEAD:loop/two 2> log; echo code-$?; grep -c 'HTTP/2 200' log; \
         unset GIT_CURL_VERBOSE; git push origin HEAD:main; echo code-$?; \
         git push origin :loop/theirs; echo code-$?"
    );
    let ran = pushing.sh(&script);
    assert_eq!(ran.out(), "code-0\n2\ncode-1\ncode-1", "{ran}");
    assert!(ran.err().contains("remote: denied by Loop: "), "{ran}");
    assert!(pushing.refs().contains("refs/heads/loop/two One"), "{}", pushing.refs());
    assert!(!pushing.refs().contains("refs/heads/main One"), "{}", pushing.refs());
    assert_eq!((pushing.pushed(), pushing.results()), (1, vec!["changed".to_owned()]));
    pushing.internet.verify();
}

fn pushes_over_plain_http_are_judged_too() {
    let mut pushing = Pushing::new();
    let plain = pushing.internet.plain_origin();
    pushing.internet.grant(OTHER, 80, &plain, "");
    std::fs::remove_file(pushing.internet.www().join("git-token")).unwrap();
    let bare = pushing.bare();
    let set = ["git", "--git-dir", bare.to_str().unwrap(), "config", "http.receivepack", "true"];
    pushing.internet.world.outside(pushing.internet.world.path(), &set).run().expect_code(0);
    let script = format!(
        "{COMMIT} commit One; for branch in main loop/plain; do \
         git push -q http://{OTHER}{SITE} HEAD:$branch; echo code-$?; done"
    );
    let ran = pushing.sh(&script);
    assert_eq!(ran.out(), "code-1\ncode-0", "{ran}");
    assert!(ran.err().contains("remote: denied by Loop: "), "{ran}");
    assert!(pushing.refs().contains("refs/heads/loop/plain One"), "{}", pushing.refs());
    assert!(!plain.log().contains("authorization"), "a lease goes to its host only");
    pushing.internet.verify();
}

fn a_large_push_is_streamed() {
    let pushing = Pushing::new();
    let script = format!(
        "{COMMIT} head -c 24000000 /dev/urandom > big; git add big; git commit -qm Big; \
         git push -q origin HEAD:main; echo code-$?; git push -q origin HEAD:loop/big; echo code-$?"
    );
    let ran = pushing.sh(&script);
    assert_eq!(ran.out(), "code-1\ncode-0", "{ran}");
    assert!(ran.err().contains("remote: denied by Loop: "), "{ran}");
    // Of the refused one only its probe, then a probe and the push.
    assert_eq!(pushing.pushed(), 3, "{}", pushing.origin.log());
    let bare = pushing.bare();
    let line = ["git", "--git-dir", bare.to_str().unwrap(), "fsck", "--strict"];
    let world = &pushing.internet.world;
    world.outside(world.path(), &line).run().expect_code(0);
    pushing.internet.verify();
}
