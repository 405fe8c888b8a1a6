//! Starts the confined process and holds on to it.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use broker::Permit;
use confine::plan::{Mediate, Plan};
use confine::protocol::{Channel, Order, Report};
use confine::report::{Enforcement, Failure};
use policy::Exec;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags};
use thiserror::Error;

use crate::cgroup::{Cgroup, CgroupError};
use crate::door::Door;
use crate::gate::{Mediation, Serving, Tree};
use crate::relay::{Limit, Seat};

/// The file of this very program.
const OWN_FILE: &str = "/proc/self/exe";
/// How long a sandbox may take to end before its processes are killed one by one.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Why no sandbox stands.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The confining program could not be started.
    #[error("executable helper: can't start {name}: {0}", name = confine::PROGRAM_NAME)]
    Helper(#[source] io::Error),
    /// A part of the sandbox could not be built.
    #[error(transparent)]
    Confine(#[from] Failure),
    /// The confining program ended or misspoke.
    #[error("{name} ended without a report: {0}", name = confine::PROGRAM_NAME)]
    Lost(#[source] io::Error),
    /// The sandbox could not be put under its limits.
    #[error(transparent)]
    Limits(#[from] CgroupError),
    /// The syscall gate could not be served.
    #[error("syscall gate: {0}")]
    Gate(#[source] io::Error),
}

/// The confining program, started and waiting for its plan. Starting it early lets it get ready
/// while the plan is made.
#[derive(Debug)]
pub struct Helper {
    channel: Channel,
    process: Child,
    /// Removed when the process is gone, because until then it can't be.
    cgroup: Option<Cgroup>,
}

/// A sandbox that stands. Everything in it ends when this is dropped.
#[derive(Debug)]
pub struct Sandbox {
    gate: Option<Serving>,
    network: Option<Listeners>,
    door: Option<Door>,
    helper: Helper,
    enforcement: Enforcement,
    /// The intent of what was announced last.
    pub(crate) announced: Option<u64>,
}

/// What is listened to in a sandbox, for whoever carries its connections out.
#[derive(Debug)]
pub struct Listeners {
    /// Questions for names.
    pub names_udp: UdpSocket,
    /// The same, by connection.
    pub names_tcp: TcpListener,
    /// Clients that ask a proxy.
    pub proxy: TcpListener,
    /// Clients that know of none, a listener for each port.
    pub transparent: Vec<TcpListener>,
}

impl Helper {
    /// Starts the confining program.
    ///
    /// Must be called from the thread that will outlive the sandbox: the kernel ends the sandbox
    /// when the thread that started it is gone.
    ///
    /// # Errors
    /// When the program can't be started.
    pub fn start() -> Result<Self, LaunchError> {
        let (ours, theirs) = socket_pair().map_err(LaunchError::Helper)?;
        let process = spawn(theirs).map_err(LaunchError::Helper)?;
        Ok(Self { channel: Channel::over(ours), process, cgroup: None })
    }

    /// The process to put under limits before it is confined.
    #[must_use]
    pub fn pid(&self) -> Option<Pid> {
        pid_of(&self.process)
    }

    /// Keeps the group that the process was put under.
    #[must_use]
    pub fn under(mut self, cgroup: Option<Cgroup>) -> Self {
        self.cgroup = cgroup;
        self
    }

    /// Carries out `plan`. A plan that mediates nothing needs no mediation.
    ///
    /// # Errors
    /// What is missing, by name. Nothing is left behind.
    pub fn confine(self, plan: Plan, mediation: Option<Mediation>) -> Result<Sandbox, LaunchError> {
        let (mediate, network) = (plan.mediate.clone(), plan.network.clone());
        let door = self.order(plan).map_err(LaunchError::Lost)?;
        let (enforcement, descriptors) =
            match self.channel.next_report().map_err(LaunchError::Lost)? {
                (Report::Confined(enforcement), descriptors) => (enforcement, descriptors),
                (Report::Failed(failure), _) => return Err(failure.into()),
                _ => return Err(LaunchError::Lost(io::ErrorKind::InvalidData.into())),
            };
        let mut given = Given(descriptors.into_iter());
        let gate = self.gate(mediate, mediation, &mut given).map_err(LaunchError::Gate)?;
        let network = network.map(|network| given.listeners(network.ports.len()));
        let network = network.transpose().map_err(LaunchError::Lost)?;
        given.nothing_more().map_err(LaunchError::Lost)?;
        Ok(Sandbox { gate, network, door, helper: self, enforcement, announced: None })
    }

    /// Sends the plan, and keeps the way in if it publishes anything.
    fn order(&self, plan: Plan) -> io::Result<Option<Door>> {
        if plan.published.is_empty() {
            self.channel.order(&Order::Confine(Box::new(plan)), &[])?;
            return Ok(None);
        }
        let (ours, theirs) = socket_pair()?;
        self.channel.order(&Order::Confine(Box::new(plan)), &[theirs.as_fd()])?;
        Ok(Some(Door::new(Channel::over(ours))))
    }

    fn gate(
        &self,
        mediate: Mediate,
        mediation: Option<Mediation>,
        given: &mut Given,
    ) -> io::Result<Option<Serving>> {
        if mediate == Mediate::default() {
            return Ok(None);
        }
        let mediation = mediation.ok_or(io::ErrorKind::NotConnected)?;
        let listener = given.next()?;
        let trees = mediate.trees.into_iter().map(|path| Ok(Tree { path, root: given.next()? }));
        let trees = trees.collect::<io::Result<_>>()?;
        self.serve(listener, mediation, trees).map(Some)
    }

    fn serve(
        &self,
        listener: OwnedFd,
        mediation: Mediation,
        trees: Vec<Tree>,
    ) -> io::Result<Serving> {
        let init = self.channel.as_fd().try_clone_to_owned()?;
        Serving::start(listener, mediation, trees, init)
    }
}

/// The descriptors that came with a report, in their order.
struct Given(std::vec::IntoIter<OwnedFd>);

impl Given {
    fn next(&mut self) -> io::Result<OwnedFd> {
        self.0.next().ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn listeners(&mut self, ports: usize) -> io::Result<Listeners> {
        let (names_udp, names_tcp, proxy) = (self.next()?, self.next()?, self.next()?);
        let transparent = (0..ports).map(|_| self.next().map(TcpListener::from));
        Ok(Listeners {
            names_udp: names_udp.into(),
            names_tcp: names_tcp.into(),
            proxy: proxy.into(),
            transparent: transparent.collect::<Result<_, _>>()?,
        })
    }

    fn nothing_more(mut self) -> io::Result<()> {
        if self.0.next().is_none() { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        hang_up(&self.channel, &mut self.process);
    }
}

impl Sandbox {
    /// What the sandbox measured about itself.
    #[must_use]
    pub fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// What is listened to inside, once.
    pub fn take_listeners(&mut self) -> Option<Listeners> {
        self.network.take()
    }

    /// The way in, once, if anything is published.
    pub fn take_door(&mut self) -> Option<Door> {
        self.door.take()
    }

    /// Says that init is about to start what is permitted.
    pub fn announce(&self, permit: &Permit<Exec>) {
        self.gate.iter().for_each(|gate| gate.expect(permit));
    }

    /// Says that init has answered: what it was to start, whose intent this is, runs or never will.
    pub fn answered(&self, intent: u64) {
        self.gate.iter().for_each(|gate| gate.answered(intent));
    }
}

impl Seat for Sandbox {
    fn channel(&self) -> &Channel {
        &self.helper.channel
    }

    fn limit_reached(&self) -> Option<Limit> {
        self.helper.cgroup.as_ref().and_then(Cgroup::reached)
    }

    fn answered(&mut self) {
        if let Some(intent) = self.announced.take() {
            Sandbox::answered(self, intent);
        }
    }

    fn end(&mut self) {
        hang_up(&self.helper.channel, &mut self.helper.process);
    }
}

/// Hangs up and waits. Init ends when the socket does, the kernel then ends every other process
/// of its namespace before init's parent can see it gone, and the parent ends last: when it has
/// been waited for, nothing of the sandbox is left.
fn hang_up(socket: &impl AsFd, process: &mut Child) {
    // Fails only when the other side is gone already.
    let _ = rustix::net::shutdown(socket, Shutdown::Both);
    if !ends_soon(process) {
        // Init hangs in the kernel. It is tied to its parent and dies when it comes back.
        let _ = process.kill();
    }
    let _ = process.wait();
}

fn ends_soon(process: &Child) -> bool {
    let Some(handle) =
        pid_of(process).and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok())
    else {
        return false;
    };
    let mut sources = [PollFd::new(&handle, PollFlags::IN)];
    loop {
        match rustix::event::poll(&mut sources, Some(&PATIENCE)) {
            Err(rustix::io::Errno::INTR) => {}
            ready => return ready.is_ok_and(|count| count > 0),
        }
    }
}

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    Ok(rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

#[expect(clippy::disallowed_methods, reason = "the one place where the product starts a process")]
fn spawn(socket: OwnedFd) -> io::Result<Child> {
    Command::new(OWN_FILE)
        .arg0(confine::PROGRAM_NAME)
        .env_clear()
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

fn pid_of(process: &Child) -> Option<Pid> {
    i32::try_from(process.id()).ok().and_then(Pid::from_raw)
}
