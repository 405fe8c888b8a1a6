//! Rough figures of the network gate, on loopback: lookups a second, and memory for each idle
//! tunnel. `cargo run -p egress --example figures [TUNNELS]`; the descriptors must suffice for four
//! times as many.
#![expect(clippy::print_stdout, reason = "a program for developers, who read what it prints")]

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use broker::Broker;
use egress::{Config, Egress, Limits, Listeners, SyntheticRange};
use ledger::{Disk, Ledger};
use names::{RunId, system_clock};
use policy::{Flags, Layer, NoLibrary, Request, Source};

/// Lookups that are timed.
const LOOKUPS: u32 = 64_000;
/// Lookups that wait for their answers together.
const IN_FLIGHT: u32 = 32;

struct Nowhere;

impl Disk for Nowhere {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let tunnels: usize = std::env::args().nth(1).map_or(Ok(1000), |text| text.parse())?;
    let origin = TcpListener::bind("127.0.0.1:0")?;
    let place = origin.local_addr()?;
    std::thread::spawn(move || origin.incoming().flatten().collect::<Vec<TcpStream>>());
    let names = UdpSocket::bind("127.0.0.1:0")?;
    let proxy = TcpListener::bind("127.0.0.1:0")?;
    let (names_at, proxy_at) = (names.local_addr()?, proxy.local_addr()?);
    let text = format!("[[network]]\nhost = \"example.com\"\nports = [5432]\ndial = \"{place}\"\n");
    let listeners =
        Listeners { names_udp: Some(names), proxy: vec![proxy], ..Listeners::default() };
    let config = Config {
        limits: Limits { connections: tunnels + 10, ..Limits::default() },
        range: SyntheticRange::new(Ipv4Addr::new(127, 18, 0, 0), 15),
        ..Config::new(broker(text)?, listeners)
    };
    let egress = Egress::start(config)?;

    let asker = UdpSocket::bind("127.0.0.1:0")?;
    asker.connect(names_at)?;
    let query = b"\xab\xcd\x01\0\0\x01\0\0\0\0\0\0\x07example\x03com\0\0\x01\0\x01";
    let mut answer = [0; 512];
    let started = Instant::now();
    for _ in 0..LOOKUPS / IN_FLIGHT {
        for _ in 0..IN_FLIGHT {
            asker.send(query)?;
        }
        for _ in 0..IN_FLIGHT {
            asker.recv(&mut answer)?;
        }
    }
    let rate = f64::from(LOOKUPS) / started.elapsed().as_secs_f64();
    println!("{rate:.0} lookups/s, {IN_FLIGHT} in flight");

    let before = resident()?;
    let mut open = Vec::with_capacity(tunnels);
    for _ in 0..tunnels {
        let mut stream = TcpStream::connect(proxy_at)?;
        stream.write_all(b"CONNECT example.com:5432 HTTP/1.1\r\nHost: example.com:5432\r\n\r\n")?;
        stream.read_exact(&mut [0; 39])?;
        stream.write_all(b"\x01opaque")?;
        open.push(stream);
    }
    let each = (resident()? - before) / u64::try_from(tunnels)?;
    println!("{each} bytes for each of {tunnels} idle tunnels, with those of client and origin");
    drop(open);
    println!("{:?}", egress.stop());
    Ok(())
}

fn broker(text: String) -> Outcome<Broker> {
    let owner = Source { layer: Layer::Owner, name: "figures".to_owned(), text };
    let request = Request {
        profile: None,
        profile_name: "offline".to_owned(),
        owner: Some(owner),
        project: None,
        flags: Flags::default(),
        home: PathBuf::from("/home/ann"),
        project_dir: PathBuf::from("/home/ann/site"),
        subject: "ann".to_owned(),
        library: &NoLibrary,
    };
    let authority = policy::resolve(request).map_err(|errors| format!("{errors:?}"))?.authority;
    let ledger = Ledger::over(Box::new(Nowhere), &RunId::parse("261129-k7m2qd")?, system_clock)?;
    Ok(Broker::new(Arc::new(authority), ledger))
}

/// Bytes of memory of this process.
fn resident() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib * 1024)
}
