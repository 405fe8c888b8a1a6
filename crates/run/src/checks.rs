//! One command in a fresh sandbox of a run: the same authority, broker and ledger as the run's own
//! sandbox, and nothing of what that one left but what is laid in it.
//!
//! Whatever a check does, or can't do, is a result to be recorded. An error is only what Loop could
//! not do. What a check printed is kept beside the ledger; everything else of its sandbox goes.

mod printed;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use api::{Problem, exit};
use broker::Refusal;
use contract::{Check, Ran};
use rustix::process::Signal;
use sandbox::protocol::Ending;
use sandbox::{
    Attendant, CommandRequest, Enforcement, ExecError, Finished, Layout, Limit, Plan, Sandbox,
    Signals, Streams,
};

use crate::exec::{action, permit, result, umask, written_to};
use crate::grounds::{Grounds, GroupedHelper, measured, stand};
use crate::prepare::Evidence;
use crate::problem::{IntoProblem as _, OrProblem as _};
use crate::store::{RunDirectory, at, private};

use printed::Printed;

/// Most that a check may print where the authority has no limit of its own, in bytes.
const PRINTED: u64 = 64 << 20;

/// Makes fresh sandboxes of one run.
#[derive(Clone)]
pub(crate) struct Fresh<'a> {
    pub(crate) evidence: &'a Evidence,
    pub(crate) grounds: &'a Grounds,
    /// What the run's own sandbox measured about itself. Every further one has to measure the same,
    /// because the receipt says it once.
    pub(crate) enforcement: &'a Enforcement,
    /// The person's environment.
    pub(crate) variables: &'a BTreeMap<OsString, OsString>,
    /// Where the person is, who may be asked.
    pub(crate) streams: &'a Streams,
    /// The person's signals: any that asks for an end ends a check at once.
    pub(crate) signals: &'a Signals,
    /// When the run's time is up.
    pub(crate) deadline: Option<Instant>,
}

/// A check that was tried.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) ran: Ran,
    /// The limit that ended it.
    pub(crate) limit: Option<Limit>,
    /// The person ended it, and wants no other.
    pub(crate) interrupted: bool,
}

impl Fresh<'_> {
    /// Runs `check` in the `number`th fresh sandbox of the run, whose upper directory `lay` fills.
    /// The result names the paths that it left changed and that are `guarded`, which is told
    /// whether the base has them.
    ///
    /// # Errors
    /// What could not be laid, confined or recorded.
    pub(crate) fn run(
        &self,
        number: usize,
        lay: &dyn Fn(&Path) -> Result<(), Problem>,
        check: &Check,
        guarded: &dyn Fn(&[u8], bool) -> bool,
        attendant: Option<&mut dyn Attendant>,
    ) -> Result<Tried, Problem> {
        let Evidence { run, authority, broker, .. } = self.evidence;
        let place = Place::make(&run.directory, number)?;
        let name = format!("{}-check-{number}", run.directory.id);
        let helper = GroupedHelper::start(name, &authority.limits)?;
        self.grounds.make(&place.layout, authority)?;
        lay(&place.layout.upper())?;
        let (helper, held) = helper.grouped(&authority.limits)?;
        let plan = self.grounds.plan(&place.layout, authority, held)?;
        // What is published leads to the run's own sandbox.
        let plan = Plan { published: Vec::new(), ..plan };
        let mut sandbox = stand(helper, plan, broker)?;
        self.refuse_another_kind(&measured(&sandbox, &authority.limits, held))?;
        let egress = self.grounds.serve(broker, &mut sandbox, None)?;
        let tried = self.run_in(&mut sandbox, &place, check, attendant);
        drop(sandbox);
        if let Some(egress) = egress {
            // Every connection has its end in the ledger then.
            egress.stop();
        }
        let tried = tried?;
        let touched_oracle = self.touched(&place, guarded)?;
        Ok(Tried { ran: Ran { touched_oracle, ..tried.ran }, ..tried })
    }

    fn refuse_another_kind(&self, enforcement: &Enforcement) -> Result<(), Problem> {
        if enforcement == self.enforcement {
            return Ok(());
        }
        let what = "the sandbox of a check is not held as the run's own was";
        Err(Problem::new(exit::UNSAFE, what).with_next("see `loop doctor`, and verify again"))
    }

    fn run_in(
        &self,
        sandbox: &mut Sandbox,
        place: &Place,
        check: &Check,
        mut attendant: Option<&mut dyn Attendant>,
    ) -> Result<Tried, Problem> {
        let (person, signals, broker) = (self.streams, self.signals, &self.evidence.broker);
        let request = self.request(place, check);
        let action = action(&request.args, &request.environment, &request.directory);
        let permit = match permit(broker, action, person, signals, &mut attendant) {
            Ok(permit) => permit,
            Err(refusal @ Refusal::Unrecorded(_)) => return Err(refusal.into_problem()),
            Err(refusal @ Refusal::Stopped { .. }) => {
                return Ok(Tried { interrupted: true, ..Tried::not_started(&refusal) });
            }
            Err(refusal) => return Ok(Tried::not_started(&refusal)),
        };
        let printed = place.streams().map_err(at(&place.output)).or_problem()?;
        let finished = sandbox.run_apart(&permit, &request, &printed, person, signals, attendant);
        broker.complete(permit, &result(&finished)).or_problem()?;
        match finished {
            Ok(finished) => {
                let ran = place.ran(&finished).map_err(at(&place.output)).or_problem()?;
                Ok(Tried { ran, limit: finished.limit, interrupted: finished.interrupted })
            }
            Err(error @ ExecError::Streams(_)) => Err(error.into_problem()),
            Err(error) => Ok(Tried::not_started(&error)),
        }
    }

    fn request(&self, place: &Place, check: &Check) -> CommandRequest {
        let limits = &self.evidence.authority.limits;
        let left = self.deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let own = check.timeout.map(|timeout| Duration::from_millis(timeout.as_millis()));
        let written = written_to(&self.evidence.authority, &place.layout);
        let project = &self.grounds.project.root;
        let below = check.directory.as_ref().map(|path| project.join(path.as_path()));
        CommandRequest {
            args: check.run.argv().into_iter().map(OsString::from).collect(),
            environment: self.grounds.environment(self.evidence, self.variables),
            directory: below.unwrap_or_else(|| project.clone()),
            umask: umask(),
            wall: own.into_iter().chain(left).min(),
            output: Some(limits.output.map_or(PRINTED, |limit| limit.0.min(PRINTED))),
            disk: limits.disk.map(|limit| (limit.0, written)),
        }
    }

    fn touched(
        &self,
        place: &Place,
        guarded: &dyn Fn(&[u8], bool) -> bool,
    ) -> Result<Vec<String>, Problem> {
        let (upper, base) = (place.layout.upper(), &self.grounds.project.root);
        let sought = |path: &[u8]| guarded(path, true) || guarded(path, false);
        let touched = workspace::changed_among(&upper, base, &sought).or_problem()?;
        let touched = touched.iter().filter(|it| guarded(it.path.as_bytes(), it.existed));
        Ok(touched.map(|it| it.path.text().into_owned()).collect())
    }
}

impl Tried {
    fn not_started(why: &dyn Display) -> Self {
        let ran = Ran { not_started: Some(why.to_string()), ..Ran::default() };
        Self { ran, limit: None, interrupted: false }
    }
}

/// The directories of one check, which go with it, and the files of what it printed, which stay.
struct Place {
    layout: Layout,
    output: PathBuf,
    error: PathBuf,
}

impl Place {
    fn make(run: &RunDirectory, number: usize) -> Result<Self, Problem> {
        let root = run.checks().join(number.to_string());
        private(&root).or_problem()?;
        let (output, error) = (root.join("stdout"), root.join("stderr"));
        Ok(Self { layout: Layout::of(root), output, error })
    }

    /// Nothing to read, and files to print to.
    fn streams(&self) -> io::Result<Streams> {
        let new = |path: &Path| {
            let file = File::options().create_new(true).write(true).mode(0o600).open(path);
            file.map(OwnedFd::from)
        };
        let input = File::open("/dev/null")?.into();
        Ok(Streams { input, output: new(&self.output)?, error: new(&self.error)? })
    }

    fn ran(&self, finished: &Finished) -> io::Result<Ran> {
        let output = Printed::read(&mut File::open(&self.output)?)?;
        let error = Printed::read(&mut File::open(&self.error)?)?;
        let timed_out = finished.limit == Some(Limit::Wall);
        let (exit, signal) = match finished.ending {
            Some(Ending::Exited(code)) => (Some(code), None),
            Some(Ending::Killed(signal)) => (None, Some(signal)),
            // Whatever ended it has ended the sandbox.
            None => (None, (!timed_out).then_some(Signal::KILL.as_raw())),
        };
        Ok(Ran {
            exit,
            signal,
            timed_out,
            cut: output.cut || error.cut,
            output: output.digest,
            stdout: output.kept,
            stderr: error.kept,
            took_ms: u64::try_from(finished.took.as_millis()).unwrap_or(u64::MAX),
            ..Ran::default()
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for part in parts(&self.layout) {
            // What can't be removed now is tried again, and told, when the run is sealed.
            let _ = sandbox::remove_tree(&part);
        }
    }
}

fn parts(layout: &Layout) -> Vec<PathBuf> {
    let parts = [layout.upper(), layout.work(), layout.scratch()];
    parts.into_iter().chain(layout.git_uppers()).collect()
}

/// What sandboxes of checks left behind, because the process that made them is gone.
pub(crate) fn left_behind(run: &RunDirectory) -> Vec<PathBuf> {
    let places = run.checks().read_dir().into_iter().flatten().flatten();
    places.flat_map(|place| parts(&Layout::of(place.path()))).filter(|it| it.exists()).collect()
}
