//! What the gate carries without looking into it, or without holding it: large bodies, HTTP/2.

use testkit::Running;

use super::internet::{HOST, Internet, SEEN};

crate::tests![a_large_download_takes_no_memory, http2_goes_through_a_tunnel_and_through_opened_tls,];

/// Blocks of 64 KiB.
const SMALL: usize = 16;
const LARGE: usize = 6 << 10;
/// What buffers on the way may take.
const ROOM: usize = 48 << 20;

/// The most memory that a process has had, in bytes.
fn peak(running: &Running) -> usize {
    let status = format!("/proc/{}/status", running.id().as_raw_nonzero());
    let status = std::fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib << 10
}

/// A client that takes its time before it reads a body of so many blocks.
fn reading(blocks: usize) -> String {
    format!("curl -sS --cacert ca.pem https://{HOST}/big?{blocks} | (sleep 1; wc -c)")
}

/// Waits until the server has this file.
fn await_file(name: &str) -> String {
    format!("until curl -sSf --cacert ca.pem https://{HOST}/{name} 2>/dev/null; do sleep 0.1; done")
}

fn a_large_download_takes_no_memory() {
    let (internet, _origin) = Internet::with("");
    let script = format!(
        "{}; {}; {}; {}",
        reading(SMALL),
        await_file("go"),
        reading(LARGE),
        await_file("end")
    );
    let running = internet.exec_with(&[], &["bash", "-c", &script]).start();
    running.expect_output(&format!("{}\n", SMALL << 16));
    let before = peak(&running);
    std::fs::write(internet.www().join("go"), "").unwrap();
    running.expect_output(&format!("{}\n", LARGE << 16));
    let after = peak(&running);
    std::fs::write(internet.www().join("end"), "").unwrap();
    running.wait().expect_code(0);
    assert!(after < before + ROOM, "{before} bytes before, {after} after");
    internet.verify();
}

fn http2_goes_through_a_tunnel_and_through_opened_tls() {
    for (more, trusted) in [("", "--cacert ca.pem"), (SEEN, "")] {
        let mut internet = Internet::new();
        let origin = internet.http2_origin("0");
        internet.grant(HOST, 443, &origin, more);
        let curl =
            format!("curl -sS --http2 {trusted} -w '%{{http_version}} %{{num_connects}}\\n'");
        let urls = format!("https://{HOST}/one https://{HOST}/two");
        let script = format!("{curl} {urls}; {curl} -x http://127.0.0.53:3128 {urls}");
        let ran = internet.sh(&script).expect_code(0);
        let twice = "hello over two: /one\n2 1\nhello over two: /two\n2 0\n".repeat(2);
        assert_eq!(ran.out(), twice.trim_end(), "{ran}");
        internet.verify();
    }
}
