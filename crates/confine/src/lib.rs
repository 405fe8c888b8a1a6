//! The most privileged program of Loop, and the smallest: it carries out a [`plan::Plan`] step by
//! step, proves from inside that it holds, and becomes the init of the sandbox.
//!
//! It runs as a process of its own, started from the same file under the name
//! [`PROGRAM_NAME`], with one socket and an empty environment. It knows no policy, reads no
//! configuration, and starts no thread.

pub mod door;
pub mod exact;
pub mod plan;
pub mod protocol;
pub mod report;

mod command;
mod filter;
mod init;
mod listen;
mod mediate;
mod privileges;
mod proof;
mod rights;
mod view;
mod watch;

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Pid, Signal, WaitOptions};
use sys::process::Fork;
use sys::signal::SignalFd;

use crate::door::Door;
use crate::plan::Plan;
use crate::protocol::{Channel, Order, Report};
use crate::report::{During, Enforcement, Facility, Failure};

/// The name under which the binary is this program: argv\[0\].
pub const PROGRAM_NAME: &str = "loop-confine";

/// Whether this process was started as [`PROGRAM_NAME`].
#[must_use]
pub fn is_confine_process() -> bool {
    std::env::args_os().next().is_some_and(|name| name == PROGRAM_NAME)
}

/// Becomes the sandbox that the first order on standard input describes.
///
/// Never returns: 0 after the sandbox has ended, 1 when it could not be built, which the control
/// plane has been told if it still listens.
pub fn main() -> ! {
    let code = match run() {
        Ok(()) => 0,
        Err(_) => 1,
    };
    sys::process::exit_now(code)
}

fn run() -> io::Result<()> {
    // Out of the person's session: the keys of their terminal, and the terminal, are not for here.
    rustix::process::setsid()?;
    sys::descriptor::close_from(3)?;
    let channel = Channel::over(sys::descriptor::inherit(0)?);
    let (order, descriptors) = channel.next_order()?;
    let Order::Confine(plan) = order else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a plan"));
    };
    let door = descriptors.into_iter().next().map(Channel::over);
    let door = door.map(|channel| Door::new(channel, plan.published.clone()));
    let Err(failure) = confine(&channel, &plan, door);
    channel.report(&Report::Failed(failure), &[])?;
    Err(io::Error::other("not confined"))
}

/// Returns only on failure: success ends this process with the sandbox.
fn confine(channel: &Channel, plan: &Plan, door: Option<Door>) -> Result<Infallible, Failure> {
    privileges::enter_namespaces(&plan.identity)?;
    match sys::process::fork().during(Facility::Namespaces, "start init")? {
        Fork::Parent(init) => {
            drop(door);
            privileges::tie_to_parent()?;
            wait_for(init)
        }
        Fork::Child => become_init(channel, plan, door),
    }
}

/// The parent of init stays only so that somebody can wait for the end of the sandbox.
fn wait_for(init: Pid) -> ! {
    let ended = loop {
        match rustix::process::waitpid(Some(init), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other,
        }
    };
    let clean = matches!(ended, Ok(Some((_, status))) if status.exit_status() == Some(0));
    sys::process::exit_now(i32::from(!clean))
}

fn become_init(channel: &Channel, plan: &Plan, door: Option<Door>) -> Result<Infallible, Failure> {
    let children =
        SignalFd::block(&[Signal::CHILD]).during(Facility::Protocol, "watch for children")?;
    let (enforcement, mediated) = carry_out(plan)?;
    let served = say_confined(channel, enforcement, mediated)
        .and_then(|()| init::serve(channel, &children, plan.watch.clone(), door));
    sys::process::exit_now(i32::from(served.is_err()))
}

/// The listeners and the ways to change what is mediated leave with the report: nobody inside may
/// answer what is asked, or change it unasked.
fn say_confined(
    channel: &Channel,
    enforcement: Enforcement,
    mediated: Vec<OwnedFd>,
) -> io::Result<()> {
    let descriptors: Vec<_> = mediated.iter().map(AsFd::as_fd).collect();
    channel.report(&Report::Confined(enforcement), &descriptors)
}

fn carry_out(plan: &Plan) -> Result<(Enforcement, Vec<OwnedFd>), Failure> {
    let trees = view::build(&plan.steps, &plan.mediate.trees)?;
    rustix::system::sethostname(plan.hostname.as_bytes())
        .during(Facility::Namespaces, "name the host")?;
    sys::network::bring_loopback_up().during(Facility::Loopback, "bring it up")?;
    let listeners = plan.network.as_ref().map(listen::open).transpose()?.unwrap_or_default();
    privileges::limit(&plan.watch)?;
    privileges::give_up()?;
    privileges::tie_to_parent()?;
    let landlock_abi = rights::restrict(&plan.rights)?;
    let mut filter = install_filter(plan)?;
    let proofs = proof::run(plan.filter)?;
    // The last step: nobody answers yet, and nothing from here on asks.
    let listener = mediate::install(&plan.mediate)?.map(|(listener, bytes)| {
        filter.extend(bytes);
        listener
    });
    let enforcement = Enforcement {
        backend: "local".to_owned(),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        landlock_abi,
        filter: names::Digest::of(&filter).hex(),
        mediated: plan.mediate.names(),
        limits: std::collections::BTreeMap::new(),
        proofs,
    };
    Ok((enforcement, listener.into_iter().chain(trees).chain(listeners).collect()))
}

fn install_filter(plan: &Plan) -> Result<Vec<u8>, Failure> {
    let programs = filter::programs(plan.filter).during(Facility::Seccomp, "compile the filter")?;
    for program in &programs {
        seccompiler::apply_filter(program).during(Facility::Seccomp, "install the filter")?;
    }
    Ok(programs.iter().flat_map(|program| filter::bytes(program)).collect())
}
