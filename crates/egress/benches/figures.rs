//! The network gate's figures, a line each, on loopback: lookups a second, and kilobytes for each
//! idle tunnel. `--smoke` does little and proves only that the benchmark runs.
//! `cargo bench -p egress`
#![expect(clippy::print_stdout, reason = "a benchmark reports to a person")]

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use broker::Broker;
use egress::{Config, Egress, Limits, Listeners, SyntheticRange};
use ledger::{Disk, Ledger};
use names::{RunId, system_clock};
use policy::{Flags, Layer, NoLibrary, Request, Source};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lookups that are timed.
const LOOKUPS: u32 = 64_000;
/// Lookups that wait for their answers together.
const IN_FLIGHT: u32 = 32;
/// Tunnels that are idle together.
const TUNNELS: u32 = 10_000;
/// Descriptors that a tunnel takes here: of the client, the gate (two) and the origin.
const EACH: u64 = 4;
/// Descriptors for all else.
const REST: u64 = 200;

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
    let smoke = std::env::args().any(|word| word == "--smoke");
    let (lookups, wanted) = if smoke { (3_200, 100) } else { (LOOKUPS, TUNNELS) };
    let tunnels = allowed(wanted);
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
        limits: Limits { connections: usize::try_from(tunnels)? + 10, ..Limits::default() },
        range: SyntheticRange::new(Ipv4Addr::new(127, 18, 0, 0), 15),
        ..Config::new(broker(text)?, listeners)
    };
    let egress = Egress::start(config)?;
    let rate = lookup_rate(names_at, lookups)?;
    println!("egress-lookups {rate:.0} {IN_FLIGHT} in flight");
    let each = idle_tunnels(proxy_at, tunnels)?;
    println!("egress-idle {each:.2} {tunnels} tunnels, with client and origin");
    egress.stop();
    Ok(())
}

/// As many as there can be descriptors for.
fn allowed(wanted: u32) -> u32 {
    let needed = u64::from(wanted) * EACH + REST;
    let more = Rlimit { current: Some(needed), maximum: Some(needed) };
    if setrlimit(Resource::Nofile, more).is_ok() {
        return wanted;
    }
    let maximum = getrlimit(Resource::Nofile).maximum;
    // If even that is refused, the first tunnel too many says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let enough = maximum.unwrap_or(needed).saturating_sub(REST) / EACH;
    u32::try_from(enough).unwrap_or(wanted).min(wanted)
}

/// Lookups a second.
fn lookup_rate(server: SocketAddr, lookups: u32) -> Outcome<f64> {
    let asker = UdpSocket::bind("127.0.0.1:0")?;
    asker.connect(server)?;
    let query = b"\xab\xcd\x01\0\0\x01\0\0\0\0\0\0\x07example\x03com\0\0\x01\0\x01";
    let mut answer = [0; 512];
    let started = Instant::now();
    for _ in 0..lookups / IN_FLIGHT {
        for _ in 0..IN_FLIGHT {
            asker.send(query)?;
        }
        for _ in 0..IN_FLIGHT {
            asker.recv(&mut answer)?;
        }
    }
    Ok(f64::from(lookups) / started.elapsed().as_secs_f64())
}

/// Kilobytes of memory for each tunnel that has said something and waits.
fn idle_tunnels(proxy: SocketAddr, tunnels: u32) -> Outcome<f64> {
    let before = resident()?;
    let mut open = Vec::new();
    for _ in 0..tunnels {
        let mut stream = TcpStream::connect(proxy)?;
        stream.write_all(b"CONNECT example.com:5432 HTTP/1.1\r\nHost: example.com:5432\r\n\r\n")?;
        stream.read_exact(&mut [0; 39])?;
        stream.write_all(b"\x01opaque")?;
        open.push(stream);
    }
    Ok((resident()? - before) * 1.024 / f64::from(tunnels))
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

/// Kibibytes of memory of this process.
fn resident() -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
