//! Starting and stopping the gate of one run.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use broker::Broker;
use names::Port;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::dns;
use crate::effect::{HostResolver, Resolver};
use crate::gate::{Gate, Limits, Plugged};
use crate::git::GitGate;
use crate::http::action::QueryKey;
use crate::intercept::Intercept;
use crate::proxy;
use crate::publish::{self, Entrance, Inside, Published};
use crate::record::{END, Totals};
use crate::synthetic::{SyntheticRange, Table};
use crate::transparent;

/// Threads that carry bytes. What waits, for the disk or for a person, has threads of its own.
const THREADS: usize = 2;
/// Until accepting is tried again where it failed, for want of descriptors.
const AGAIN: Duration = Duration::from_millis(100);

/// Sockets of the sandbox's network namespace, which init made and passed out. Any of them may be
/// missing.
#[derive(Debug, Default)]
pub struct Listeners {
    /// One for each port that can be reached transparently, on all synthetic addresses.
    pub transparent: Vec<TcpListener>,
    /// The name server's, for datagrams.
    pub names_udp: Option<UdpSocket>,
    /// The name server's, for connections.
    pub names_tcp: Option<TcpListener>,
    /// The explicit proxy's, for HTTP and SOCKS5.
    pub proxy: Vec<TcpListener>,
}

/// What the gate of a run is started with.
pub struct Config {
    /// Who decides and records.
    pub broker: Broker,
    /// Where clients come in.
    pub listeners: Listeners,
    /// How much is too much.
    pub limits: Limits,
    /// Addresses that stand for names.
    pub range: SyntheticRange,
    /// Who turns names into addresses.
    pub resolver: Arc<dyn Resolver>,
    /// Who opens TLS; without, what would have to be opened is refused.
    pub intercept: Option<Arc<dyn Intercept>>,
    /// Who judges pushes; without, they are requests like any other.
    pub git: Option<Arc<dyn GitGate>>,
    /// What is published.
    pub entrance: Option<Entrance>,
}

impl Config {
    /// The usual: limits, range and resolver of the machine; nobody who opens TLS or judges pushes.
    #[must_use]
    pub fn new(broker: Broker, listeners: Listeners) -> Self {
        Self {
            broker,
            listeners,
            limits: Limits::default(),
            range: SyntheticRange::BENCHMARKING,
            resolver: Arc::new(HostResolver),
            intercept: None,
            git: None,
            entrance: None,
        }
    }
}

/// A running gate. Dropping it stops it.
#[derive(Debug)]
pub struct Egress {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<Totals>>,
}

impl Egress {
    /// Starts the gate on threads of its own.
    pub fn start(config: Config) -> io::Result<Self> {
        let (stop, told) = watch::channel(false);
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("egress")
            .enable_io()
            .enable_time()
            .build()?;
        let gate = Arc::new(Gate::new(
            config.broker,
            config.limits,
            Table::new(config.range),
            config.resolver,
            Plugged { intercept: config.intercept, git: config.git },
            QueryKey::fresh()?,
            told,
        ));
        let doors = {
            let _inside = runtime.enter();
            let mut doors = doors(config.listeners)?;
            doors.extend(entrance(config.entrance)?);
            doors
        };
        let thread = std::thread::Builder::new()
            .name("egress".to_owned())
            .spawn(move || run(runtime, gate, doors))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Ends every connection, records the ends, and says what passed in all.
    pub fn stop(mut self) -> Totals {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Totals> {
        // Nobody listens if the gate is gone already.
        let _ = self.stop.send(true);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where clients come in, and what they speak there.
enum Door {
    Transparent(tokio::net::TcpListener),
    Names(tokio::net::TcpListener),
    Datagrams(tokio::net::UdpSocket),
    Proxy(tokio::net::TcpListener),
    /// Of this machine, and leading into the sandbox.
    Published(tokio::net::TcpListener, Port, Arc<dyn Inside>),
}

fn doors(listeners: Listeners) -> io::Result<Vec<Door>> {
    let mut doors = Vec::new();
    for listener in listeners.transparent {
        doors.push(Door::Transparent(tcp(listener)?));
    }
    for listener in listeners.proxy {
        doors.push(Door::Proxy(tcp(listener)?));
    }
    if let Some(listener) = listeners.names_tcp {
        doors.push(Door::Names(tcp(listener)?));
    }
    if let Some(socket) = listeners.names_udp {
        socket.set_nonblocking(true)?;
        doors.push(Door::Datagrams(tokio::net::UdpSocket::from_std(socket)?));
    }
    Ok(doors)
}

fn entrance(entrance: Option<Entrance>) -> io::Result<Vec<Door>> {
    let Some(Entrance { inside, ports }) = entrance else { return Ok(Vec::new()) };
    let listeners = ports.into_iter().flat_map(|Published { port, listeners }| {
        listeners.into_iter().map(move |listener| (port, listener))
    });
    let door = |(port, listener)| Ok(Door::Published(tcp(listener)?, port, inside.clone()));
    listeners.map(door).collect()
}

fn tcp(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

/// Serves until told to stop, and then for as long as it takes to record the ends.
fn run(runtime: Runtime, gate: Arc<Gate>, doors: Vec<Door>) -> Totals {
    let limit = gate.limits.stop;
    runtime.block_on(async {
        // Every task holds a sender; when all are gone, all is done.
        let (busy, mut done) = mpsc::channel::<()>(1);
        let ways_out = Arc::new(Semaphore::new(gate.limits.connections));
        // Clients of this machine must not take the run's own connections from it.
        let ways_in = Arc::new(Semaphore::new(gate.limits.published));
        for door in doors {
            let slots = if matches!(door, Door::Published(..)) { &ways_in } else { &ways_out };
            tokio::spawn(attend(gate.clone(), door, slots.clone(), busy.clone()));
        }
        drop(busy);
        gate.stopped().await;
        let _ = timeout(limit, done.recv()).await;
    });
    let totals = gate.totals();
    // A ledger that fails has failed the run already.
    let _ = gate.broker.ledger().commit(END, &totals);
    runtime.shutdown_timeout(limit);
    totals
}

async fn attend(gate: Arc<Gate>, door: Door, slots: Arc<Semaphore>, busy: mpsc::Sender<()>) {
    let listener = match &door {
        Door::Transparent(listener)
        | Door::Names(listener)
        | Door::Proxy(listener)
        | Door::Published(listener, ..) => listener,
        Door::Datagrams(_) => {
            if let Door::Datagrams(socket) = door {
                dns::serve::serve_datagrams(gate, socket).await;
            }
            return;
        }
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = gate.stopped() => return,
        };
        let Ok((client, _)) = accepted else {
            sleep(AGAIN).await;
            continue;
        };
        // Further clients wait in the kernel's queue.
        let slot = tokio::select! {
            slot = slots.clone().acquire_owned() => slot,
            () = gate.stopped() => return,
        };
        let (gate, busy) = (gate.clone(), busy.clone());
        let served = serve(&door, gate, client);
        tokio::spawn(async move {
            served.await;
            drop((slot, busy));
        });
    }
}

fn serve(door: &Door, gate: Arc<Gate>, client: TcpStream) -> crate::intercept::Boxed<'static, ()> {
    // Small messages must not wait for each other; it is no harm if that fails.
    let _ = client.set_nodelay(true);
    match door {
        Door::Transparent(_) => match client.local_addr() {
            Ok(to) => Box::pin(transparent::serve(gate, client, to)),
            Err(_) => Box::pin(async {}),
        },
        Door::Names(_) => Box::pin(dns::serve::serve_connection(gate, client)),
        Door::Published(_, port, inside) => {
            Box::pin(publish::serve(gate, inside.clone(), client, *port))
        }
        Door::Proxy(_) | Door::Datagrams(_) => Box::pin(proxy::serve(gate, client)),
    }
}
