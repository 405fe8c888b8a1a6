//! Published ports: real servers inside, clients outside.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use testkit::{Launch, Remains, Running, World, need, wait_until};

crate::tests![
    a_published_port_is_reached_and_no_other,
    it_is_published_in_every_mode,
    a_server_that_starts_late_is_reached_once_it_listens,
    a_server_at_either_loopback_address_is_reached,
    much_is_carried_both_ways_after_a_half_close,
    a_port_that_is_taken_starts_nothing,
    a_rule_against_it_starts_nothing,
    each_connection_can_be_asked_about,
    two_runs_publish_side_by_side,
    a_killed_run_listens_no_more,
    a_session_publishes_from_its_start,
    the_way_in_is_no_way_out,
];

/// What serves inside, at the port of its argument: what the client sent, counted, and as much back.
const COUNTING: &str = "import socket, sys\n\
    s = socket.create_server((sys.argv[1], int(sys.argv[2])), family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)\n\
    print('listening', flush=True)\n\
    while True:\n\
    \x20   c, _ = s.accept(); n = 0\n\
    \x20   while b := c.recv(65536): n += len(b)\n\
    \x20   c.sendall(b'%d\\n' % n + b'x' * n); c.close()";

struct Scene {
    world: World,
    project: PathBuf,
}

impl Scene {
    fn new() -> Self {
        ["python3", "curl"].into_iter().for_each(need);
        let world = World::new();
        let project = world.repository("project").path().to_owned();
        Self { world, project }
    }

    fn exec(&self, flags: &[&str], line: &[&str]) -> Launch {
        self.world.exec_with(&self.project, flags, line)
    }

    /// A server that counts, listening, published at a port of this machine.
    fn counting(&self, flags: &[&str], address: &str, port: u16) -> (Running, u16) {
        let outside = free_port();
        let published = format!("{outside}:{port}");
        let flags = [flags, &["--publish", &published]].concat();
        let port = port.to_string();
        let line = ["/usr/bin/python3", "-c", COUNTING, address, &port];
        let running = self.exec(&flags, &line).start();
        running.expect_output("listening");
        (running, outside)
    }

    fn shown(&self, run: &str) -> Value {
        self.world.run_loop(&self.project, &["show", run, "--json"]).run().expect_code(0).json()
    }

    fn only_run(&self) -> PathBuf {
        let mut runs = self.world.runs();
        assert_eq!(runs.len(), 1);
        runs.remove(0)
    }

    fn records(&self, kind: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.only_run().join("ledger.jsonl")).unwrap();
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.filter(|it| it["kind"] == kind).map(|it| it["body"].clone()).collect()
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn connect(address: impl Into<SocketAddr>) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address.into(), Duration::from_secs(30))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(stream)
}

/// Sends all of it, then only listens; what came back.
fn exchange(port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut sending = stream.try_clone().unwrap();
    let mut answer = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            sending.write_all(bytes).unwrap();
            sending.shutdown(Shutdown::Write).unwrap();
        });
        stream.read_to_end(&mut answer).unwrap();
    });
    answer
}

fn end(running: Running) -> String {
    running.signal(Signal::INT);
    let ran = running.wait().expect_no_panic();
    ran.err()
}

fn a_published_port_is_reached_and_no_other() {
    let scene = Scene::new();
    std::fs::write(scene.project.join("page.txt"), "from inside\n").unwrap();
    let (outside, hidden) = (free_port(), free_port());
    let script = format!(
        "python3 -m http.server {hidden} --bind 127.0.0.1 & exec python3 -m http.server 3000"
    );
    let published = format!("{outside}:3000");
    let running = scene.exec(&["--publish", &published], &["bash", "-c", &script]).start();
    let curl = |host: &str, port: u16| {
        let url = format!("http://{host}:{port}/page.txt");
        scene.world.outside(scene.world.path(), &["curl", "-sS", "-m", "60", &url]).run()
    };
    wait_until("the server listens", || curl("127.0.0.1", outside).out() == "from inside");
    curl("localhost", outside).expect_code(0).expect_out("from inside");
    assert_eq!(
        connect((Ipv4Addr::LOCALHOST, hidden)).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
    let told = end(running);
    assert!(told.contains(&format!("published 127.0.0.1:{outside}, port 3000 inside")), "{told}");

    let (intents, results) = (scene.records("publish.intent"), scene.records("publish.result"));
    assert_eq!(intents.len(), results.len());
    assert!(intents.len() >= 2);
    assert!(intents.iter().all(|intent| intent["action"]["port"] == 3000), "{intents:?}");
    let last = &results.last().unwrap()["result"];
    assert_eq!((&last["address"], &last["ended"]), (&"127.0.0.1:3000".into(), &"closed".into()));
    assert!(last["sent"].as_u64().unwrap() > 12 && last["received"].as_u64().unwrap() > 12);
    let shown = scene.shown(scene.only_run().file_name().unwrap().to_str().unwrap());
    let published = &shown["published"][0];
    assert_eq!((&published["port"], &published["outside"][0]), (&3000.into(), &outside.into()));
    assert_eq!(published["connections"], intents.len());
    let receipt = scene.only_run().join("receipt.json");
    let words = ["receipt", "verify", receipt.to_str().unwrap(), "--json"];
    let report = scene.world.run_loop(&scene.project, &words).run().json();
    for aspect in ["signature", "chain", "policy", "completeness"] {
        assert_eq!(report["verdict"][aspect]["verdict"], "holds", "{report:#}");
    }
}

fn it_is_published_in_every_mode() {
    for mode in ["overlay", "read-only", "direct"] {
        let scene = Scene::new();
        let (running, port) = scene.counting(&["--mode", mode], "127.0.0.1", 3000);
        assert_eq!(exchange(port, b"four"), b"4\nxxxx", "{mode}");
        end(running);
    }
}

fn a_server_that_starts_late_is_reached_once_it_listens() {
    let scene = Scene::new();
    let port = free_port();
    let script = format!("cat > /dev/null; exec python3 -c \"$1\" 127.0.0.1 {port}");
    let published = port.to_string();
    let line = ["bash", "-c", &script, "sh", COUNTING];
    // Standard input ends at once, so the server starts soon, and listens some time later.
    let running = scene.exec(&["--publish", &published], &line).start();
    let mut early = 0;
    wait_until("the server listens", || {
        let Ok(mut stream) = connect((Ipv4Addr::LOCALHOST, port)) else { return false };
        stream.write_all(b"12").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        // An end, never a reset: what nobody serves is closed in order.
        stream.read_to_string(&mut answer).unwrap();
        early += usize::from(answer.is_empty());
        answer == "2\nxx"
    });
    end(running);
    let results = scene.records("publish.result");
    let refused = results.iter().filter(|it| it["result"]["ended"] == "unreachable");
    assert_eq!(refused.count(), early);
}

fn a_server_at_either_loopback_address_is_reached() {
    for address in ["127.0.0.1", "::1", "0.0.0.0"] {
        let scene = Scene::new();
        let (running, port) = scene.counting(&[], address, 3000);
        assert_eq!(exchange(port, b"1"), b"1\nx", "{address}");
        if let Ok(mut stream) = connect((Ipv6Addr::LOCALHOST, port)) {
            stream.shutdown(Shutdown::Write).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, "0\n");
        }
        end(running);
    }
}

fn much_is_carried_both_ways_after_a_half_close() {
    const MUCH: usize = 24 << 20;
    let scene = Scene::new();
    let (running, port) = scene.counting(&[], "127.0.0.1", 3000);
    let answer = exchange(port, &vec![b'y'; MUCH]);
    assert!(answer.starts_with(format!("{MUCH}\nx").as_bytes()));
    assert_eq!(answer.len(), MUCH + 9);
    end(running);
    let result = &scene.records("publish.result")[0]["result"];
    assert_eq!(result["received"], MUCH);
    assert_eq!(result["sent"], MUCH + 9);
}

fn a_port_that_is_taken_starts_nothing() {
    let scene = Scene::new();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let published = format!("{}:3000", address.port());
    let ran = scene.exec(&["--publish", &published], &["touch", "ran"]).run();
    ran.expect_code(125).expect_err(&format!("{address} can't be published"));
    assert!(scene.world.runs().is_empty());
    let ran = scene.exec(&["--publish", "0"], &["true"]).run().expect_code(125);
    ran.expect_err("port \"0\" is zero");
    let twice = ["--publish", "3000:1", "--publish", "3000:2"];
    scene.exec(&twice, &["true"]).run().expect_code(2).expect_err("port 3000 can't lead to both");
}

fn a_rule_against_it_starts_nothing() {
    let scene = Scene::new();
    let rule = "[[rule]]\nid = \"no-doors\"\naction = \"publish\"\nports = [3000]\n\
                verdict = \"deny\"\nreason = \"not on this machine\"\n";
    scene.world.write("loop-home/config.toml", rule);
    let published = format!("{}:3000", free_port());
    let ran = scene.exec(&["--publish", &published], &["true"]).run().expect_code(126);
    ran.expect_err("port 3000 can't be published: not on this machine").expect_err("no-doors");
    assert!(scene.world.runs().is_empty());
}

fn each_connection_can_be_asked_about() {
    let scene = Scene::new();
    let rule = "[[rule]]\nid = \"ask-first\"\naction = \"publish\"\nverdict = \"ask\"\n";
    scene.world.write("loop-home/config.toml", rule);
    let (running, port) = scene.counting(&[], "127.0.0.1", 3000);
    let tell = |words: &[&str]| scene.world.run_loop(&scene.project, words).run().expect_code(0);
    let client = std::thread::spawn(move || exchange(port, b"12"));
    let mut waiting = Value::Null;
    wait_until("it is asked about", || {
        waiting = tell(&["approvals", "--json"]).json();
        waiting.as_array().is_some_and(|asks| !asks.is_empty())
    });
    assert_eq!(waiting[0]["what"], "3000", "{waiting:#}");
    tell(&["approve", waiting[0]["id"].as_str().unwrap()]);
    assert_eq!(client.join().unwrap(), b"2\nxx");
    end(running);
}

fn two_runs_publish_side_by_side() {
    let scene = Scene::new();
    let (one, first) = scene.counting(&[], "127.0.0.1", 3000);
    let (other, second) = scene.counting(&[], "127.0.0.1", 3000);
    assert_eq!(exchange(first, b"a"), b"1\nx");
    assert_eq!(exchange(second, b"bc"), b"2\nxx");
    end(one);
    assert_eq!(exchange(second, b"d"), b"1\nx");
    let refused = connect((Ipv4Addr::LOCALHOST, first)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    end(other);
}

fn a_killed_run_listens_no_more() {
    let remains = Remains::watch();
    let scene = Scene::new();
    let (running, port) = scene.counting(&[], "127.0.0.1", 3000);
    let mut open = connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    open.write_all(b"x").unwrap();
    wait_until("it is on record", || scene.records("publish.intent").len() == 1);
    running.signal(Signal::KILL);
    running.wait();
    // The connection ends with it, in whatever way.
    let _ = open.read(&mut [0; 8]).map(|count| assert_eq!(count, 0));
    let refused = connect((Ipv4Addr::LOCALHOST, port)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    remains.expect_none();
}

fn a_session_publishes_from_its_start() {
    let remains = Remains::watch();
    let scene = Scene::new();
    let port = free_port().to_string();
    let session = ["--quiet", "--session", "dev"];
    let publishing = [&session[..], &["--publish", &port]].concat();
    scene.exec(&publishing, &["true"]).run().expect_code(0);
    let line = ["/usr/bin/python3", "-c", COUNTING, "127.0.0.1", &port];
    let running = scene.exec(&publishing, &line).start();
    running.expect_output("listening");
    assert_eq!(exchange(port.parse().unwrap(), b"123"), b"3\nxxx");
    let later = [&session[..], &["--publish", "3999"]].concat();
    let ran = scene.exec(&later, &["true"]).run().expect_code(125);
    ran.expect_err("started without publishing port 3999").expect_err("loop stop");
    running.signal(Signal::INT);
    running.wait();
    scene.world.run_loop(&scene.project, &["stop", "dev"]).run().expect_code(0);
    let refused = connect((Ipv4Addr::LOCALHOST, port.parse().unwrap())).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    remains.expect_none();
}

/// From inside, the published port leads nowhere but inside, and no other port of this machine is
/// reached by it.
fn the_way_in_is_no_way_out() {
    let scene = Scene::new();
    let secret = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let elsewhere = secret.local_addr().unwrap().port();
    let outside = free_port();
    let probe = "import socket, sys\n\
        for port in sys.argv[1:]:\n\
        \x20   for host in '127.0.0.1', '::1', '198.18.0.1', '127.0.0.53':\n\
        \x20       try: socket.create_connection((host, int(port)), 5); print('reached', host, port)\n\
        \x20       except OSError: pass\n\
        print('done', flush=True)";
    let published = format!("{outside}:3000");
    let ports = [outside, elsewhere, 3000].map(|port| port.to_string());
    let [outside_text, elsewhere, inside] = ports.each_ref().map(String::as_str);
    let line = ["/usr/bin/python3", "-c", probe, outside_text, elsewhere, inside];
    let ran = scene.exec(&["--quiet", "--publish", &published], &line).run();
    ran.expect_code(0).expect_out("done");
    secret.set_nonblocking(true).unwrap();
    assert_eq!(secret.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}
