//! Starts a sandbox from a plan, without anything above this crate.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use confine::exact::Exact;
use confine::plan::{BindAccess, Filter, Identity, Mediate, Plan, Rights, Step, Watch};
use confine::protocol::{Channel, Ending, Order, Report, Terminal};
use confine::report::{Enforcement, Failure};
use rustix::net::sockopt::Timeout;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// A report that takes longer does not come.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// The host's programs, read-only, and a `/tmp`.
pub(crate) fn base_plan() -> Plan {
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    let mut steps = Vec::new();
    for name in ["/bin", "/sbin", "/lib", "/lib64"] {
        match std::fs::read_link(name) {
            Ok(to) => steps.push(Step::Link { at: name.into(), to }),
            Err(_) if std::path::Path::new(name).exists() => steps.push(read(name)),
            Err(_) => {}
        }
    }
    steps.push(read("/usr"));
    steps.push(Step::File { at: "/etc/passwd".into(), text: String::new(), mode: 0o644 });
    steps.push(Step::Devices { shared_memory: 1 << 20 });
    steps.push(Step::Processes { cover_machine: uid == 0 });
    steps.push(Step::Memory { at: "/tmp".into(), mode: 0o1777, size: 1 << 20 });
    Plan {
        identity: Identity {
            outside_uid: uid,
            outside_gid: gid,
            inside_uid: if uid == 0 { 1000 } else { uid },
            inside_gid: if gid == 0 { 1000 } else { gid },
        },
        hostname: "test".into(),
        steps,
        rights: Rights { write: vec!["/tmp".into(), "/dev".into(), "/proc".into()] },
        filter: Filter::default(),
        mediate: Mediate::default(),
        network: None,
        published: Vec::new(),
        watch: Watch::default(),
    }
}

/// A pair whose first end gives up waiting in the end.
fn socket_pair() -> (OwnedFd, OwnedFd) {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let (ours, theirs) = rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None).unwrap();
    rustix::net::sockopt::set_socket_timeout(&ours, Timeout::Recv, Some(PATIENCE)).unwrap();
    (ours, theirs)
}

fn read(path: &str) -> Step {
    Step::Bind { from: path.into(), at: path.into(), access: BindAccess::Read }
}

#[derive(Debug)]
pub(crate) struct Running {
    channel: Option<Channel>,
    pub(crate) door: Channel,
    process: Child,
    pub(crate) enforcement: Enforcement,
}

impl Running {
    pub(crate) fn start(plan: Plan) -> Self {
        Self::try_start(plan).expect("the sandbox stands")
    }

    #[allow(clippy::disallowed_methods, reason = "a test starts the program under test")]
    pub(crate) fn try_start(plan: Plan) -> Result<Self, Failure> {
        let (ours, theirs) = socket_pair();
        let process = Command::new("/proc/self/exe")
            .arg0(confine::PROGRAM_NAME)
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let channel = Channel::over(ours);
        let (door, theirs) = socket_pair();
        channel.order(&Order::Confine(Box::new(plan)), &[theirs.as_fd()]).unwrap();
        drop(theirs);
        match channel.next_report().unwrap().0 {
            Report::Confined(enforcement) => {
                let door = Channel::over(door);
                Ok(Self { channel: Some(channel), door, process, enforcement })
            }
            Report::Failed(failure) => Err(failure),
            other => panic!("{other:?}"),
        }
    }

    fn channel(&self) -> &Channel {
        self.channel.as_ref().unwrap()
    }

    pub(crate) fn order(
        &self,
        args: &[&str],
        directory: &str,
        terminal: Option<Terminal>,
        streams: &[BorrowedFd<'_>],
    ) {
        let command = confine::protocol::Command {
            id: 1,
            args: args.iter().map(|arg| Exact::new(*arg)).collect(),
            environment: vec![Exact::new("PATH=/usr/bin:/bin")],
            directory: Exact::new(directory),
            umask: 0o022,
            terminal,
        };
        self.channel().order(&Order::Start(command), streams).unwrap();
    }

    pub(crate) fn next(&self) -> (Report, Vec<OwnedFd>) {
        self.channel().next_report().unwrap()
    }

    pub(crate) fn next_but_endings(&self) -> Report {
        loop {
            match self.next().0 {
                Report::Ended { .. } => {}
                report => return report,
            }
        }
    }

    pub(crate) fn shell(&self, script: &str) -> (String, Ending) {
        self.run(&["sh", "-c", script])
    }

    pub(crate) fn run(&self, args: &[&str]) -> (String, Ending) {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let null = File::open("/dev/null").unwrap();
        self.order(args, "/", None, &[null.as_fd(), writer.as_fd(), writer.as_fd()]);
        drop(writer);
        assert_eq!(self.next().0, Report::Started { command: 1 });
        let output = read_all(&reader);
        match self.next().0 {
            Report::Ended { command: 1, ending } => (output, ending),
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.channel.take());
        self.process.wait().unwrap();
    }
}

/// Until the end; a terminal whose users are gone ends with an error: pty(7).
pub(crate) fn read_all(from: &OwnedFd) -> String {
    let mut text = Vec::new();
    let mut file = File::from(from.try_clone().unwrap());
    let _ = file.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}
