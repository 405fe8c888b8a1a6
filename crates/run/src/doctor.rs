//! `loop doctor`: what this machine can enforce, found out by doing it.
//!
//! A sandbox as small as can be is started with the same program, plan and steps as every other
//! one. What fails is named by the step that failed; what couldn't be tried for that reason says so.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use api::{Availability, Check, DoctorReport, Problem};
use confine::plan::{Filter, Identity, Mediate, Plan, Rights, Step, Watch};
use sandbox::{Enforcement, Facility, Helper, LaunchError};

use crate::problem::advice;
use crate::settings::Settings;
use crate::store;

/// The user and group inside; any but 0.
const INSIDE: u32 = 1000;

/// Tries everything that a run needs.
pub(crate) fn doctor(settings: &Settings) -> Result<DoctorReport, Problem> {
    let state = writable(&settings.homes.state, "ledger, change set and receipt of every run");
    let config = writable(&settings.homes.config, "the signing key and the record of trust");
    let mut checks = kernel_checks(settings);
    checks.extend([limits_check(), state, config]);
    let missing =
        |check: &Check| check.required && matches!(check.availability, Availability::Missing(_));
    let ready = !checks.iter().any(missing);
    Ok(DoctorReport { kernel: kernel(), checks, ready })
}

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// What each facility of the kernel is needed for, in the order in which a sandbox uses them.
const FACILITIES: [(Facility, &str, &str); 12] = [
    (Facility::UserNamespaces, "user namespaces", "a sandbox without root"),
    (Facility::Namespaces, "namespaces", "processes, network and host name of its own"),
    (Facility::Mounts, "mounts", "a root that shows only what the profile names"),
    (Facility::Proc, "proc file system", "a view of the sandbox's own processes only"),
    (Facility::Overlay, "overlay file system", "writes that stay in the run"),
    (Facility::Loopback, "loopback interface", "local servers inside"),
    (Facility::Limits, "resource limits", "ending what takes too much"),
    (Facility::Privileges, "giving up privileges", "a sandbox that can't undo itself"),
    (Facility::Landlock, "Landlock", "a second line against writes outside of the view"),
    (Facility::Seccomp, "system call filter", "refusing system calls that no build needs"),
    (Facility::SelfTest, "self-test", "the evidence in the receipt"),
    (Facility::Protocol, "exec protocol", "starting commands inside"),
];

/// The helper and the facilities of the kernel, by starting a sandbox.
fn kernel_checks(settings: &Settings) -> Vec<Check> {
    let trial = Trial::run(settings);
    let mut checks = vec![Check {
        name: "executable helper".to_owned(),
        availability: trial.helper(),
        needed_for: "building the sandbox".to_owned(),
        required: true,
        what_to_do: Some(
            "mount /proc, and keep the loop binary where it can be executed".to_owned(),
        ),
    }];
    checks.extend(FACILITIES.iter().map(|(facility, name, needed_for)| Check {
        name: (*name).to_owned(),
        availability: trial.availability(*facility),
        needed_for: (*needed_for).to_owned(),
        required: true,
        // What was never tried may be there: first things first.
        what_to_do: trial.failure(*facility).map(|_| advice(*facility)),
    }));
    checks
}

/// What came of starting sandboxes.
struct Trial {
    /// Facilities that failed, and how.
    failed: Vec<(Facility, String)>,
    /// Why nothing could be tried, or nothing more.
    stopped: Option<String>,
    /// What the last sandbox measured.
    enforcement: Option<Enforcement>,
}

impl Trial {
    /// Starts a sandbox with everything. Without what fails and can be left out, another one is
    /// started, so that one missing facility doesn't hide the next.
    fn run(settings: &Settings) -> Self {
        let mut trial = Self { failed: Vec::new(), stopped: None, enforcement: None };
        let scratch = Scratch::make(&settings.homes.state);
        let mut steps = vec![Step::Processes { cover_machine: false }];
        match &scratch {
            Ok(scratch) => steps.push(scratch.overlay()),
            Err(error) => {
                let reason = format!("not tried: {}: {error}", settings.homes.state.display());
                trial.failed.push((Facility::Overlay, reason));
            }
        }
        while trial.start(&mut steps) {}
        trial
    }

    /// Starts one sandbox; whether another one with fewer steps is worth it.
    fn start(&mut self, steps: &mut Vec<Step>) -> bool {
        let failure =
            match Helper::start().and_then(|helper| helper.confine(plan(steps.clone()), None)) {
                Ok(sandbox) => {
                    self.enforcement = Some(sandbox.enforcement().clone());
                    return false;
                }
                Err(LaunchError::Confine(failure)) => failure,
                Err(other) => {
                    self.stopped = Some(other.to_string());
                    return false;
                }
            };
        let before = steps.len();
        match failure.facility {
            Facility::Overlay => steps.retain(|step| !matches!(step, Step::Overlay { .. })),
            Facility::Proc => steps.retain(|step| !matches!(step, Step::Processes { .. })),
            _ => {}
        }
        let lesser = steps.len() < before;
        if !lesser {
            self.stopped = Some(format!("not tried, because {} failed before", failure.facility));
        }
        self.failed.push((failure.facility, format!("{}: {}", failure.action, failure.answer)));
        lesser
    }

    fn helper(&self) -> Availability {
        match (&self.stopped, self.failed.is_empty(), &self.enforcement) {
            (Some(reason), true, None) => Availability::Missing(reason.clone()),
            _ => Availability::Available(confine::PROGRAM_NAME.to_owned()),
        }
    }

    fn failure(&self, facility: Facility) -> Option<&String> {
        self.failed.iter().find(|(failed, _)| *failed == facility).map(|(_, reason)| reason)
    }

    fn availability(&self, facility: Facility) -> Availability {
        if let Some(reason) = self.failure(facility) {
            return Availability::Missing(reason.clone());
        }
        match &self.enforcement {
            Some(enforcement) => Availability::Available(detail(facility, enforcement)),
            None if self.came_before_failure(facility) => {
                Availability::Available("works".to_owned())
            }
            None => Availability::Missing(self.stopped.clone().unwrap_or_default()),
        }
    }

    /// Whether a sandbox got past this facility before it failed at another.
    fn came_before_failure(&self, facility: Facility) -> bool {
        let place = |of: Facility| FACILITIES.iter().position(|(known, ..)| *known == of);
        let failed = self.failed.iter().filter_map(|(failed, _)| place(*failed)).max();
        failed.zip(place(facility)).is_some_and(|(failed, own)| own < failed)
    }
}

fn detail(facility: Facility, enforcement: &Enforcement) -> String {
    match facility {
        Facility::Landlock => format!("version {} of its interface", enforcement.landlock_abi),
        Facility::SelfTest => {
            format!("{} forbidden things were tried and refused", enforcement.proofs.len())
        }
        _ => "works".to_owned(),
    }
}

fn plan(steps: Vec<Step>) -> Plan {
    Plan {
        identity: Identity {
            outside_uid: rustix::process::geteuid().as_raw(),
            outside_gid: rustix::process::getegid().as_raw(),
            inside_uid: INSIDE,
            inside_gid: INSIDE,
        },
        hostname: "loop".to_owned(),
        steps,
        rights: Rights::default(),
        filter: Filter::default(),
        mediate: Mediate::default(),
        network: None,
        published: Vec::new(),
        watch: Watch::default(),
    }
}

/// Three directories beside the runs, where overlays will be made; removed when this is dropped.
struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    fn make(state: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
        let directory = state.join(format!(".doctor-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&directory)?;
        let scratch = Self { directory };
        for name in ["lower", "upper", "work"] {
            fs::create_dir(scratch.directory.join(name))?;
        }
        Ok(scratch)
    }

    fn overlay(&self) -> Step {
        Step::Overlay {
            lower: self.directory.join("lower"),
            upper: self.directory.join("upper"),
            work: self.directory.join("work"),
            at: PathBuf::from("/workspace"),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What can't be removed is empty, private and named after a process that is gone.
        let _ = sandbox::remove_tree(&self.directory);
    }
}

fn limits_check() -> Check {
    let availability = match sandbox::limits::available() {
        Ok(held) => Availability::Available(held.name().to_owned()),
        Err(error) => Availability::Missing(format!(
            "{error}; memory and processes are watched from inside, and the receipt says so"
        )),
    };
    Check {
        name: "control groups".to_owned(),
        availability,
        needed_for: "limits of memory, processes and processors that the kernel holds".to_owned(),
        required: false,
        what_to_do: Some(
            "run it in a session of your own with delegated controllers \
             (systemd-run --user --scope -p Delegate=yes)"
                .to_owned(),
        ),
    }
}

/// Whether a file can be made, written and removed in a directory of ours.
fn writable(directory: &Path, needed_for: &str) -> Check {
    let probe = directory.join(format!(".doctor-{}.probe", std::process::id()));
    let tried = store::private(directory)
        .and_then(|()| store::write_atomically(&probe, b"probe"))
        .and_then(|()| fs::remove_file(&probe).map_err(store::at(&probe)));
    let availability = match tried {
        Ok(()) => Availability::Available("can be written".to_owned()),
        Err(error) => Availability::Missing(error.to_string()),
    };
    Check {
        name: directory.display().to_string(),
        availability,
        needed_for: needed_for.to_owned(),
        required: true,
        what_to_do: Some(
            "make it yours, or set LOOP_HOME and XDG_CONFIG_HOME to places that can be written"
                .to_owned(),
        ),
    }
}
