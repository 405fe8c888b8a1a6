//! The program inside the sandbox. It reads orders from standard input and answers on standard
//! output, which nobody else in the sandbox can reach: it can't be looked into, and what it starts
//! has streams of its own.
//!
//! One thread that only routes. Whatever takes time, or could hang, crash or grow, happens in a
//! process for each proposal, which is killed when it is given up. A line of shell, and all that
//! comes of it, is below such a process.

pub(crate) mod link;
mod worker;

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::DumpableBehavior;

use self::link::{Said, Told};
use self::worker::Worker;
use crate::proposal::{JobAct, Outcome, Proposal};
use crate::tools::command::processes::end_others;
use crate::tools::place::Project;
use crate::wire::{Decoder, LARGEST_ORDER, LARGEST_REPORT, Order, Report, VERSION, frame};

/// Where the program is in a sandbox, and the name under which the binary is this program:
/// argv\[0\].
pub const PROGRAM: &str = "/run/loop/hands";
/// How many jobs may run, or wait for somebody to be told how they ended.
const MOST_JOBS: usize = 32;

/// Whether this process was started as [`PROGRAM`].
#[must_use]
pub fn is_hands_process() -> bool {
    std::env::args_os().next().is_some_and(|name| name == PROGRAM)
}

/// Carries out what standard input says, in the project that is the working directory, until there
/// is no more. Never returns.
pub fn main() -> ! {
    let code = match Program::start().and_then(|mut program| program.serve()) {
        Ok(()) => 0,
        Err(_) => 1,
    };
    sys::process::exit_now(code)
}

struct Program {
    input: OwnedFd,
    output: OwnedFd,
    orders: Decoder,
    project: Project,
    workers: Vec<Worker>,
    jobs: u64,
}

impl Program {
    fn start() -> io::Result<Self> {
        // Nobody inside may look into this process, which also hides its descriptors: proc(5).
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        // What loses its parent comes here, and no further.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        sys::descriptor::close_from(3)?;
        let (input, output) = (sys::descriptor::inherit(0)?, sys::descriptor::inherit(1)?);
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        let home = std::env::var_os("HOME").map(Into::into);
        let project = Project::at(std::env::current_dir()?, home);
        let orders = Decoder::new(LARGEST_ORDER);
        Ok(Self { input, output, orders, project, workers: Vec::new(), jobs: 0 })
    }

    fn serve(&mut self) -> io::Result<()> {
        self.report(&Report::Ready { version: VERSION })?;
        loop {
            let ready = self.wait()?;
            if ready.orders && !self.read_orders()? {
                return Ok(());
            }
            for index in ready.workers.into_iter().rev() {
                self.listen(index)?;
            }
        }
    }

    fn wait(&self) -> io::Result<Ready> {
        let mut sources = vec![PollFd::from_borrowed_fd(self.input.as_fd(), PollFlags::IN)];
        sources.extend(
            self.workers
                .iter()
                .map(|worker| PollFd::from_borrowed_fd(worker.descriptor(), PollFlags::IN)),
        );
        match rustix::event::poll(&mut sources, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = sources.iter().map(|source| !source.revents().is_empty());
        let orders = ready.next().unwrap_or(false);
        let workers = ready.enumerate().filter(|(_, ready)| *ready).map(|(index, _)| index);
        Ok(Ready { orders, workers: workers.collect() })
    }

    /// False at the end of the orders.
    fn read_orders(&mut self) -> io::Result<bool> {
        let mut buffer = vec![0; 64 << 10];
        let count = rustix::io::retry_on_intr(|| rustix::io::read(&self.input, &mut buffer))?;
        self.orders.push(buffer.get(..count).unwrap_or_default());
        while let Some(order) = self.orders.take().map_err(io::Error::other)? {
            match order {
                Order::Carry { id, proposal } => self.carry(id, proposal)?,
                Order::Cancel { id } => self.cancel(id)?,
            }
        }
        Ok(count > 0)
    }

    fn carry(&mut self, id: u64, proposal: Proposal) -> io::Result<()> {
        match self.begin(id, proposal) {
            Ok(()) => Ok(()),
            Err(why) => self.report(&Report::Done { id, outcome: Outcome::failed(why) }),
        }
    }

    fn begin(&mut self, id: u64, proposal: Proposal) -> Result<(), String> {
        match proposal {
            Proposal::Job { id: job, act } => self.attend(id, &job, act),
            Proposal::Bash { background: true, .. } if self.jobs().count() >= MOST_JOBS => {
                Err(format!("there are {MOST_JOBS} jobs: stop one, or look at one that has ended"))
            }
            proposal => {
                let background = matches!(proposal, Proposal::Bash { background: true, .. });
                self.jobs += u64::from(background);
                let job = background.then(|| format!("j{}", self.jobs));
                let worker = Worker::start(&self.project, proposal, id, job);
                let failed = |error| format!("no process can be started: {error}");
                self.workers.push(worker.map_err(failed)?);
                Ok(())
            }
        }
    }

    fn attend(&mut self, id: u64, job: &str, act: JobAct) -> Result<(), String> {
        match self.workers.iter_mut().find(|worker| worker.job.as_deref() == Some(job)) {
            Some(Worker { open: Some(_), .. }) => {
                Err(format!("job {job} is being attended to already"))
            }
            Some(worker) => {
                worker.open = Some(id);
                // One that is gone is noticed when its link closes, and answered for then.
                let _ = worker.tell(&Told::Attend(act));
                Ok(())
            }
            None => Err(self.no_such_job(job)),
        }
    }

    fn jobs(&self) -> impl Iterator<Item = &str> {
        self.workers.iter().filter_map(|worker| worker.job.as_deref())
    }

    fn no_such_job(&self, job: &str) -> String {
        let jobs: Vec<_> = self.jobs().collect();
        let job = names::printable(job.as_bytes());
        match jobs.as_slice() {
            [] => format!("there is no job {job}, nor any other"),
            jobs => format!("there is no job {job}; there is {}", jobs.join(", ")),
        }
    }

    fn cancel(&mut self, id: u64) -> io::Result<()> {
        let Some(at) = self.workers.iter().position(|worker| worker.open == Some(id)) else {
            return Ok(()); // answered a moment ago
        };
        if let Some(worker) = self.workers.get(at).filter(|worker| worker.listens) {
            let _ = worker.tell(&Told::Cancel);
            return Ok(());
        }
        self.workers.swap_remove(at).kill();
        self.report(&Report::Done { id, outcome: Outcome::failed("it was given up") })
    }

    /// Hears what a worker says, or that it is gone.
    fn listen(&mut self, index: usize) -> io::Result<()> {
        let Some(worker) = self.workers.get_mut(index) else { return Ok(()) };
        match worker.hear() {
            Ok(said) => said.into_iter().try_for_each(|said| self.pass_on(index, said)),
            Err(_) => {
                let worker = self.workers.swap_remove(index);
                self.bury(worker)
            }
        }
    }

    fn pass_on(&mut self, index: usize, said: Said) -> io::Result<()> {
        let Some(worker) = self.workers.get_mut(index) else { return Ok(()) };
        match (said, worker.open) {
            (Said::Progress(text), Some(id)) => self.report(&Report::Progress { id, text }),
            (Said::Done(outcome), Some(id)) => {
                worker.open = None;
                if outcome.job.is_none() {
                    worker.job = None;
                }
                self.report(&Report::Done { id, outcome })
            }
            (_, None) => Ok(()),
        }
    }

    /// A worker that is gone has answered, or is answered for.
    fn bury(&mut self, worker: Worker) -> io::Result<()> {
        let open = worker.open;
        worker.kill();
        // Whatever it has left came here. Only workers are children of this process.
        end_others(&|child| self.workers.iter().any(|worker| worker.process == child));
        let Some(id) = open else { return Ok(()) };
        let outcome = Outcome::failed("the process that carried it out was killed");
        self.report(&Report::Done { id, outcome })
    }

    fn report(&self, report: &Report) -> io::Result<()> {
        let bytes = match (frame(report, LARGEST_REPORT), report) {
            (Ok(bytes), _) => bytes,
            (Err(error), Report::Done { id, .. }) => {
                let outcome = Outcome::failed(format!("the outcome can't be told: {error}"));
                let report = Report::Done { id: *id, outcome };
                frame(&report, LARGEST_REPORT).map_err(io::Error::other)?
            }
            (Err(error), _) => return Err(io::Error::other(error)),
        };
        link::write_all(&self.output, &bytes)
    }
}

struct Ready {
    orders: bool,
    workers: Vec<usize>,
}
