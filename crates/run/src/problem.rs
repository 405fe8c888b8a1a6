//! Errors of the other crates as problems a person can act on: exit code, words, next step.

use api::{Finding, Problem, RuleRef, exit};
use broker::Refusal;
use ledger::{KeyError, LedgerError};
use names::NameError;
use names::canonical::CanonicalError;
use policy::{ActionError, Cause, Verdict};
use rustix::io::Errno;
use sandbox::limits::CgroupError;
use sandbox::{ExecError, Facility, LaunchError, PlanError};
use workspace::{ApplyError, CarryError, ChangeError, ChangeSetError, LayError, SelectError};

use crate::state::State;
use crate::store::StoreError;

/// Where to look when a part of the kernel is missing.
const DOCTOR: &str = "run `loop doctor` to see what this machine can enforce";

/// An error that can be told to a person.
pub(crate) trait IntoProblem {
    /// What to tell.
    fn into_problem(self) -> Problem;
}

/// A result whose error can be told to a person.
pub(crate) trait OrProblem<T> {
    /// The value, or what to tell.
    fn or_problem(self) -> Result<T, Problem>;
}

impl<T, E: IntoProblem> OrProblem<T> for Result<T, E> {
    fn or_problem(self) -> Result<T, Problem> {
        self.map_err(IntoProblem::into_problem)
    }
}

/// Loop can't do it safely.
pub(crate) fn unsafe_because(error: impl std::fmt::Display) -> Problem {
    Problem::new(exit::UNSAFE, error.to_string())
}

impl IntoProblem for StoreError {
    fn into_problem(self) -> Problem {
        let text = self.to_string();
        match self {
            Self::NoSuchRun(_) => {
                Problem::new(exit::NOT_FOUND, text).with_next("`loop runs --all` lists them")
            }
            Self::NoRuns(_) => {
                Problem::new(exit::NOT_FOUND, text).with_next("`loop exec -- CMD` makes one")
            }
            Self::OnlyChecked(_) => Problem::new(exit::NOT_FOUND, text)
                .with_next("`loop runs --all` lists those others"),
            Self::Ambiguous { .. } => unsafe_because(text).with_next("give more of the run's id"),
            Self::Busy(_) => unsafe_because(text).with_next("wait until it has ended"),
            Self::Malformed { .. } => unsafe_because(text)
                .with_next("it was not written by this version, or was changed since"),
            Self::Io { source, .. } => with_disk_advice(unsafe_because(text), &source),
        }
    }
}

fn with_disk_advice(problem: Problem, error: &std::io::Error) -> Problem {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => problem.with_next("make room on that file system"),
        ReadOnlyFilesystem => {
            problem.with_next("set LOOP_HOME and XDG_CONFIG_HOME to places that can be written")
        }
        PermissionDenied => problem.with_next("make it yours: check its owner and mode"),
        _ => problem,
    }
}

impl IntoProblem for LedgerError {
    fn into_problem(self) -> Problem {
        let text = self.to_string();
        match self {
            Self::File { source, .. } => with_disk_advice(unsafe_because(text), &source),
            Self::Poisoned(fault) => with_disk_advice(unsafe_because(text), &fault.source),
            Self::Busy(_) => unsafe_because(text).with_next("wait until it has ended"),
            Self::Broken(_) => unsafe_because(text)
                .with_next("nothing can be done with this run; see `loop audit`"),
            Self::TooLarge { .. } => {
                unsafe_because(text).with_next("give it fewer or shorter arguments")
            }
            Self::Finished | Self::Kind(_) | Self::Body(_) | Self::Thread(_) => {
                unsafe_because(text)
            }
        }
    }
}

impl IntoProblem for KeyError {
    fn into_problem(self) -> Problem {
        let problem = unsafe_because(&self);
        match self {
            Self::Form { .. } | Self::Encoding | Self::Point => problem.with_next(
                "a key file is one line: what `loop key show` prints, or `loop key create` makes",
            ),
            Self::IsSecret => {
                problem.with_next("name the file of its public key, which ends in .pub")
            }
            Self::File { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound => {
                    Problem { code: exit::NOT_FOUND, ..problem }.with_next("check the path")
                }
                _ => with_disk_advice(problem, &source),
            },
            Self::Exposed { .. } => problem,
        }
    }
}

impl IntoProblem for verifier::Faults {
    fn into_problem(self) -> Problem {
        let what = match self.0.len() {
            1 => "the trust file has a fault".to_owned(),
            number => format!("the trust file has {number} faults"),
        };
        let finding = |fault: verifier::Fault| Finding {
            file: fault.origin,
            line: Some(fault.line),
            key: None,
            what: fault.what,
            fix: Some(fault.next),
        };
        Problem { findings: self.0.into_iter().map(finding).collect(), ..unsafe_because(what) }
    }
}

impl IntoProblem for CanonicalError {
    fn into_problem(self) -> Problem {
        unsafe_because(self)
    }
}

impl IntoProblem for NameError {
    fn into_problem(self) -> Problem {
        let problem = Problem::new(exit::USAGE, self.to_string());
        match self.hint() {
            Some(hint) => problem.with_next(hint),
            None => problem,
        }
    }
}

impl IntoProblem for ActionError {
    fn into_problem(self) -> Problem {
        Problem::new(exit::USAGE, self.to_string()).with_next(self.fix())
    }
}

impl IntoProblem for PlanError {
    fn into_problem(self) -> Problem {
        let text = self.to_string();
        let next = match self {
            Self::ExposesLoop { .. } => "mount something below it, or make it read-only",
            Self::KernelDirectory { .. } => "choose another directory",
            Self::HoldsMount { .. } => {
                "unmount it for the run, or choose a directory without mounts"
            }
            Self::HoldsHome(_) => "run it in a directory of its own below your home",
            Self::NotText { .. } => "rename it, or choose another directory",
        };
        unsafe_because(text).with_next(next)
    }
}

impl IntoProblem for LaunchError {
    fn into_problem(self) -> Problem {
        let problem = unsafe_because(&self);
        match self {
            Self::Confine(failure) => problem.with_next(advice(failure.facility)),
            Self::Helper(_) | Self::Lost(_) | Self::Gate(_) => problem.with_next(DOCTOR),
            Self::Limits(error) => Problem { what: problem.what, ..error.into_problem() },
        }
    }
}

impl IntoProblem for CgroupError {
    fn into_problem(self) -> Problem {
        unsafe_because(self).with_next(DOCTOR)
    }
}

/// What to do where a facility is missing.
pub(crate) fn advice(facility: Facility) -> String {
    match facility {
        Facility::UserNamespaces => user_namespace_advice().to_owned(),
        Facility::Landlock => {
            "boot a kernel of 5.19 or newer with `landlock` in its `lsm=` list".to_owned()
        }
        Facility::Seccomp => "use a kernel with CONFIG_SECCOMP_FILTER".to_owned(),
        Facility::Overlay => {
            "put LOOP_HOME on ext4, xfs, btrfs or tmpfs, with a kernel of 5.11 or \
                              newer; an overlay can't hold another's writes"
                .to_owned()
        }
        Facility::Proc => "in a container, run it with an unmasked /proc \
                           (docker: --security-opt systempaths=unconfined)"
            .to_owned(),
        Facility::Namespaces | Facility::Mounts | Facility::Loopback | Facility::Privileges => {
            "in a container, allow it to make namespaces and mounts \
             (docker: --security-opt seccomp=unconfined --cap-add SYS_ADMIN)"
                .to_owned()
        }
        Facility::Limits => "raise the limits of this session: see `ulimit -a`".to_owned(),
        Facility::SelfTest | Facility::Protocol => {
            "report it, with what `loop doctor --json` says".to_owned()
        }
    }
}

/// The switches of distributions, and what to do about the one that is off.
fn user_namespace_advice() -> &'static str {
    let value = |name: &str| std::fs::read_to_string(format!("/proc/sys/{name}")).ok();
    let is = |name: &str, wanted: &str| value(name).is_some_and(|found| found.trim() == wanted);
    if is("user/max_user_namespaces", "0") {
        return "as root: sysctl -w user.max_user_namespaces=15000";
    }
    if is("kernel/unprivileged_userns_clone", "0") {
        return "as root: sysctl -w kernel.unprivileged_userns_clone=1";
    }
    if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give the \
                loop binary an AppArmor profile with `userns`";
    }
    "in a container, allow it to make user namespaces \
     (docker: --security-opt seccomp=unconfined --cap-add SYS_ADMIN)"
}

impl IntoProblem for ExecError {
    fn into_problem(self) -> Problem {
        let text = self.to_string();
        match self {
            Self::NotStarted { errno, .. } => not_started(text, Errno::from_raw_os_error(errno)),
            Self::Lost(_) => {
                unsafe_because(text).with_next("see `loop audit` for what is known of it")
            }
            Self::Streams(_) => unsafe_because(text),
        }
    }
}

/// As a shell does: 127 for what isn't there, 126 for what can't be executed.
fn not_started(text: String, errno: Errno) -> Problem {
    match errno {
        Errno::NOENT | Errno::NOTDIR => {
            let next = "the sandbox shows the project, the system and toolchains of your home; \
                        `loop policy show` says what else";
            Problem::new(exit::NOT_FOUND, text).with_next(next)
        }
        Errno::ACCESS | Errno::PERM | Errno::NOEXEC | Errno::ISDIR => {
            Problem::new(exit::DENIED, text)
        }
        _ => unsafe_because(text),
    }
}

/// A rule, and where it stands.
pub(crate) fn rule_ref(cause: &Cause) -> RuleRef {
    let (file, line) = match &cause.origin {
        Some(origin) => (origin.source.clone(), origin.line),
        None => (format!("built-in {}", cause.layer), 0),
    };
    RuleRef { id: cause.rule.clone(), file, line }
}

fn denied(what: String, verdict: &Verdict) -> Problem {
    let mut problem = Problem::new(exit::DENIED, what);
    problem.rule = verdict.decided_by.first().map(|cause| Box::new(rule_ref(cause)));
    problem.next.clone_from(&verdict.remedy);
    problem
}

impl IntoProblem for Refusal {
    fn into_problem(self) -> Problem {
        let text = self.to_string();
        match self {
            Self::Denied { verdict, .. }
            | Self::Unanswered { verdict, .. }
            | Self::TooLarge { verdict, .. }
            | Self::Withdrawn { verdict, .. }
            | Self::Stopped { verdict, .. } => denied(text, &verdict),
            Self::TimedOut { verdict, .. } => denied(text, &verdict)
                .with_next("answer in time with `loop approve`, or raise approvals.timeout"),
            Self::Capped { verdict, capped, .. } => denied(text, &verdict).with_next(format!(
                "answer what waits (`loop approvals`), or raise {} in ~/.loop/config.toml",
                capped.key
            )),
            // The person has decided; there is nothing to change but their mind.
            Self::ByPerson { verdict, .. } => Problem { next: None, ..denied(text, &verdict) },
            Self::Unrecorded(error) => {
                let problem = error.into_problem();
                Problem { what: format!("{text}: {}", problem.what), ..problem }
            }
        }
    }
}

impl IntoProblem for ChangeError {
    fn into_problem(self) -> Problem {
        unsafe_because(self).with_next("the run's writes are still in its directory: `loop show`")
    }
}

impl IntoProblem for ChangeSetError {
    fn into_problem(self) -> Problem {
        unsafe_because(self)
    }
}

impl IntoProblem for LayError {
    fn into_problem(self) -> Problem {
        let text = self.to_string();
        match self {
            Self::Lay { source, .. } => with_disk_advice(unsafe_because(text), &source),
            Self::Base { .. } => unsafe_because(text)
                .with_next("put the project back to what the run began with, or run it again"),
            Self::Content { .. } | Self::Contradiction { .. } | Self::NotEmpty => {
                unsafe_because(text)
            }
        }
    }
}

impl IntoProblem for CarryError {
    fn into_problem(self) -> Problem {
        let problem = unsafe_because(&self);
        match self {
            Self::Copy { source, .. } => with_disk_advice(problem, &source),
            Self::Device { .. } | Self::Mark { .. } => problem
                .with_next("`loop diff` shows what the earlier run left; apply or discard it"),
        }
    }
}

impl IntoProblem for ApplyError {
    fn into_problem(self) -> Problem {
        let problem = unsafe_because(&self);
        match self {
            Self::Busy => problem.with_next("wait until it has ended"),
            Self::State(state) => problem.with_next(next_from(state)),
            Self::NotApproved { .. } | Self::Altered { .. } => {
                problem.with_next("the run's files were changed after its receipt: discard it")
            }
            Self::Select(error) => error.into_problem(),
            Self::Nothing { .. } => Problem::new(exit::NO, problem.what)
                .with_next("`loop diff` says what was held, and `--flagged PATH` approves it"),
            Self::Moved { .. } => problem.with_next(
                "bring those files back to what the run saw, name other paths, or run it again",
            ),
            Self::TakenBack { .. } => problem.with_next(
                "`loop undo` the earlier run, which `loop show` names, then apply this one: its \
                 change set holds both",
            ),
            Self::Edited { .. } => problem
                .with_next("keep your edits and undo the rest by hand, or take them back first"),
            Self::Base { source, .. }
            | Self::Content { source, .. }
            | Self::Store { source, .. } => with_disk_advice(problem, &source),
            Self::Stuck { .. } => problem
                .with_next("put right what the second error says, then run the same command again"),
            Self::NotSelected | Self::ChangeSet(_) => problem,
        }
    }
}

/// What can be done with a run in a state that forbids what was asked.
fn next_from(state: State) -> &'static str {
    match state {
        State::Ready => "`loop diff` shows it, `loop apply` applies it",
        State::Applied => "`loop undo` takes it back",
        State::Undone => "`loop apply` applies it again",
        State::Discarded | State::Gone => "run the command again for a new one",
        State::HalfApplied(_) | State::HalfUndone => "run the same command again",
        State::HalfDiscarded(_) => "`loop discard` finishes it",
        State::NeverStood | State::Interrupted => "`loop discard` drops it",
        _ => "wait until it has ended",
    }
}

impl IntoProblem for SelectError {
    fn into_problem(self) -> Problem {
        let (code, next) = match &self {
            Self::NoSuchPath(_) => {
                (exit::NOT_FOUND, "`loop diff --stat` lists what it changed".to_owned())
            }
            Self::NeedsApproval { path, .. } => {
                let path = names::printable(path.as_bytes());
                (
                    exit::DENIED,
                    format!("look at it with `loop diff`, then approve it: --flagged {path}"),
                )
            }
            Self::Never { .. } => {
                (exit::DENIED, "leave it out, or make the change by hand".to_owned())
            }
        };
        Problem::new(code, self.to_string()).with_next(next)
    }
}
