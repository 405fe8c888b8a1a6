//! One function a command: ask the engine, show the answer.

mod approvals;
mod attack;
mod audit;
mod change;
mod contract;
mod docs;
mod exec;
mod git;
mod lease;
mod machine;
mod model;
mod policy;
mod propose;
mod receipt;
mod runs;
mod verification;
mod work;

use std::io::Write as _;

use api::RunRequest;
use serde::Serialize;

use crate::args::{Command, Contract, Key, Lease, OneRun, Policy, Receipt};
use crate::console::{Console, write_json};
use crate::{Failure, Open, demo};

pub(crate) use change::{show_apply, show_diff};
pub(crate) use exec::show_summary;
pub(crate) use receipt::{Evidence, show_verdict, verify_receipt};
pub(crate) use verification::checking;
pub(crate) use work::watch_agent;

/// The exit code, or why there is none.
pub(crate) type Done = Result<u8, Failure>;

/// Carries out one command.
pub(crate) fn dispatch(command: Command, console: &mut Console, open: Open) -> Done {
    match command {
        Command::Run(args) => work::work(*args, console, &*open()?),
        Command::Sessions(args) => work::sessions(args, console, &*open()?),
        Command::Models(args) => model::models(&args, console, &*open()?),
        Command::Login(args) => model::login(args, console, &*open()?),
        Command::Logout(args) => model::logout(&args, console, &*open()?),
        Command::Exec(args) => exec::exec(args, console, &*open()?),
        Command::Stop(args) => exec::stop(args, console, &*open()?),
        Command::Approvals(args) => approvals::list(args, console, &*open()?),
        Command::Approve(args) => approvals::approve(args, console, &*open()?),
        Command::Deny(args) => approvals::deny(args, console, &*open()?),
        Command::Runs(args) => runs::list(args, console, &*open()?),
        Command::Show(args) => runs::show(args, console, &*open()?),
        Command::Audit(args) => audit::audit(args, console, &*open()?),
        Command::Diff(args) => change::diff(args, console, &*open()?),
        Command::Apply(args) => change::apply(&args, console, &*open()?),
        Command::Discard(args) => change::discard(args, console, &*open()?),
        Command::Undo(args) => change::undo(args, console, &*open()?),
        Command::Branch(args) => git::branch(args, console, &*open()?),
        Command::Git(args) => git::git(args, console, &*open()?),
        Command::Receipt(Receipt::Show(args)) => receipt::show(args, console, &*open()?),
        Command::Receipt(Receipt::Verify(args)) => receipt::verify(&args, console, open),
        Command::Receipt(Receipt::Witness(args)) => receipt::witness(args, console, &*open()?),
        Command::Receipt(Receipt::Export(args)) => verification::export(args, console, &*open()?),
        Command::Verify(args) => verification::verify(args, console, &*open()?),
        Command::Policy(Policy::Check(args)) => policy::check(args, console, &*open()?),
        Command::Policy(Policy::Show(args)) => policy::show(args, console, &*open()?),
        Command::Policy(Policy::Explain(args)) => policy::explain(args, console, &*open()?),
        Command::Policy(Policy::Test(args)) => policy::test(args, console, &*open()?),
        Command::Policy(Policy::Propose(args)) => propose::propose(args, console, &*open()?),
        Command::Contract(Contract::Check(args)) => contract::check(args, console, &*open()?),
        Command::Contract(Contract::Propose(args)) => contract::propose(args, console, &*open()?),
        Command::Key(Key::Show(args)) => machine::key(&args, console, &*open()?),
        Command::Key(Key::Create(args)) => machine::create_key(&args, console, &*open()?),
        Command::Lease(Lease::Add(args)) => lease::add(*args, console, &*open()?),
        Command::Lease(Lease::List(args)) => lease::list(&args, console, &*open()?),
        Command::Lease(Lease::Revoke(args)) => lease::revoke(args, console, &*open()?),
        Command::Init(args) => machine::init(args, console, &*open()?),
        Command::Trust(args) => machine::trust(&args, console, &*open()?),
        Command::Doctor(args) => machine::doctor(&args, console, &*open()?),
        Command::Attack(args) => attack::attack(&args, console),
        Command::Demo(args) => demo::demo(&args, console, &*open()?),
        Command::Completions(args) => docs::completions(args.shell, console),
        Command::Docs(docs) => docs::docs(&docs),
    }
}

impl Command {
    /// Whether the answer is wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Run(args) => args.json,
            Self::Sessions(args) => args.json,
            Self::Models(args) => args.json,
            Self::Login(args) => args.json,
            Self::Logout(args) => args.json,
            Self::Stop(args) => args.json,
            Self::Approvals(args) => args.json,
            Self::Approve(args) => args.ask.json,
            Self::Deny(args) => args.ask.json,
            Self::Runs(args) => args.json,
            Self::Show(args) | Self::Audit(args) | Self::Discard(args) | Self::Undo(args) => {
                args.json
            }
            Self::Diff(args) => args.json,
            Self::Apply(args) => args.json,
            Self::Branch(args) => args.json,
            Self::Receipt(Receipt::Show(args)) => args.json,
            Self::Receipt(Receipt::Verify(args)) => args.json,
            Self::Receipt(Receipt::Witness(args)) => args.json,
            Self::Receipt(Receipt::Export(args)) => args.json,
            Self::Verify(args) => args.json,
            Self::Policy(Policy::Check(args)) => args.json,
            Self::Policy(Policy::Show(args)) => args.json,
            Self::Policy(Policy::Explain(args)) => args.json,
            Self::Policy(Policy::Test(args)) => args.json,
            Self::Policy(Policy::Propose(args)) => args.json,
            Self::Contract(Contract::Check(args)) => args.json,
            Self::Contract(Contract::Propose(args)) => args.json,
            Self::Key(Key::Show(args)) => args.json,
            Self::Key(Key::Create(args)) => args.json,
            Self::Lease(Lease::Add(args)) => args.json,
            Self::Lease(Lease::List(args)) => args.json,
            Self::Lease(Lease::Revoke(args)) => args.json,
            Self::Init(args) => args.json,
            Self::Trust(args) => args.json,
            Self::Doctor(args) => args.json,
            Self::Attack(args) => args.json,
            Self::Exec(_) | Self::Git(_) | Self::Demo(_) | Self::Completions(_) | Self::Docs(_) => {
                false
            }
        }
    }
}

impl From<OneRun> for RunRequest {
    fn from(args: OneRun) -> Self {
        Self { run: args.run, dir: args.project.dir }
    }
}

/// Writes `answer` as JSON, or as `text` shows it.
fn answer<T: Serialize>(
    answer: &T,
    json: bool,
    console: &mut Console,
    text: impl FnOnce(&T, &mut Console) -> std::io::Result<()>,
) -> Result<(), Failure> {
    if json {
        write_json(&mut console.out, answer)?;
    } else {
        text(answer, console)?;
    }
    console.out.flush()?;
    Ok(())
}
