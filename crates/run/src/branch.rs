//! `loop branch`, and what is told of a run's commits; and `loop git`.
//!
//! What the run wrote of Git's own files is read as data by [`git_guard::host`]. What reaches the
//! project's repository is decided by the run's frozen authority and recorded in the run's ledger
//! first.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

use api::{
    BranchReport, BranchRequest, CommitView, FileStat, FlaggedPath, GitReport, GitRequest,
    LineStat, Problem, exit,
};
use git_guard::host::{
    Branched, Found, Git, HostError, Looking, Overlays, Repository, TakeError, Taking, Unfit,
};
use names::RefName;
use policy::{Branch, Mode};
use rustix::process::Signal;
use sandbox::Layout;

use crate::changes::{Opened, find_here};
use crate::inspect::authority;
use crate::problem::{IntoProblem, OrProblem as _, unsafe_because};
use crate::rescue;
use crate::settings::Settings;
use crate::state::State;
use crate::store::{self, RunDirectory, Start};

/// More flagged paths than this aren't spelled out as options.
const WAYS_SHOWN: usize = 3;

/// What a signal that ended a program adds to its number in an exit code, as shells have it.
const SIGNALLED: i32 = 128;

/// `loop branch`.
pub(crate) fn branch(
    settings: &Settings,
    request: &BranchRequest,
) -> Result<BranchReport, Problem> {
    let name = branch_name(&request.name)?;
    let run = find_here(settings, &request.run)?;
    rescue::seal_interrupted(settings, &run)?;
    let mut opened = Opened::open(settings, run)?;
    let place = Place::of(&opened.run, &opened.start)?;
    let git = host_git(settings)?;
    let taking = place.taking(&git);
    taking.check_name(&name, request.force).map_err(|error| told(error, request))?;
    let found = taking.find(request.from.as_deref()).map_err(|error| told(error, request))?;
    let flagged = approved(&found, request)?;
    let run = opened.run.clone();
    let report = |branched: Option<Branched>| report(&run, &place, &name, &found, branched);
    if request.dry_run {
        return Ok(report(None));
    }
    let act = Branch {
        run: run.id.clone(),
        reference: name.clone(),
        commit: found.tip.to_string(),
        commits: found.commits.len() as u64,
        flagged,
    };
    let mut branched = None;
    opened.carry_out(act, |permit| {
        let done = git_guard::host::branch(permit, &taking, &found, request.force)?;
        branched = Some(done.clone());
        Ok::<_, TakeError>(done)
    })?;
    Ok(report(branched))
}

/// How many commits a run has that its project does not; none where that can't be told.
pub(crate) fn new_commits(settings: &Settings, run: &RunDirectory, start: &Start) -> Option<u64> {
    let place = Place::of(run, start).ok()?;
    let git = host_git(settings).ok()?;
    place.taking(&git).count().ok().filter(|count| *count > 0)
}

fn branch_name(text: &str) -> Result<RefName, Problem> {
    let short = text.strip_prefix("refs/heads/").unwrap_or(text);
    let name = RefName::parse(&format!("refs/heads/{short}")).or_problem()?;
    if short.starts_with('-') || short == "HEAD" {
        let what = format!("`{}` can't be the name of a branch", names::printable(text.as_bytes()));
        return Err(Problem::new(exit::USAGE, what));
    }
    Ok(name)
}

/// Where a run's commits are, and where they could go.
struct Place {
    repository: Repository,
    overlays: Overlays,
}

impl Place {
    fn of(run: &RunDirectory, start: &Start) -> Result<Self, Problem> {
        let mode = authority(run)?.mode;
        if workspace::state(run.path()).or_problem()? == State::Discarded {
            return Err(unsafe_because("the run's changes were discarded, and its commits too"));
        }
        let repository = Repository::of(&start.project).ok_or_else(|| {
            let what = format!("{} is no Git repository", start.project.display());
            Problem::new(exit::NO, what)
                .with_next("make one, and run again; `loop apply` takes files")
        })?;
        let overlays = overlays(run, start, mode);
        if overlays.0.is_empty() {
            let (what, next) = match mode {
                Mode::Direct => {
                    ("what the run committed is in the project already", "`git log --all`")
                }
                _ => (
                    "the run wrote nothing, so it made no commits",
                    "`loop show` tells what it did",
                ),
            };
            return Err(Problem::new(exit::NO, what).with_next(next));
        }
        Ok(Self { repository, overlays })
    }

    fn taking<'a>(&'a self, git: &'a Git) -> Taking<'a> {
        Taking { git, repository: &self.repository, overlays: &self.overlays }
    }
}

/// What lies over what. The more specific come first.
fn overlays(run: &RunDirectory, start: &Start, mode: Mode) -> Overlays {
    let layout = Layout::of(run.path());
    let git = start.git.iter().enumerate();
    let git = git.map(|(number, directory)| (directory.clone(), layout.git_upper(number)));
    let project = (mode == Mode::Overlay).then(|| (start.project.clone(), layout.upper()));
    Overlays(git.chain(project).filter(|(_, upper)| upper.is_dir()).collect())
}

/// Git for this person. Private directories are made below Loop's own.
fn host_git(settings: &Settings) -> Result<Git, Problem> {
    let scratch: PathBuf = settings.homes.state.join("scratch");
    let made = DirBuilder::new().mode(0o700).recursive(true).create(&scratch);
    made.map_err(store::at(&scratch)).or_problem()?;
    Git::find(&settings.environment, &scratch).or_problem()
}

/// The flagged paths, if the person named each.
fn approved(found: &Found, request: &BranchRequest) -> Result<Vec<String>, Problem> {
    let named = |path: &str| {
        request.flagged.iter().any(|named| {
            let rest = path.as_bytes().strip_prefix(named.as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    };
    let unnamed: Vec<_> = found.flagged.iter().filter(|flagged| !named(&flagged.path)).collect();
    if unnamed.is_empty() {
        return Ok(found.flagged.iter().map(|flagged| flagged.path.clone()).collect());
    }
    let lines = unnamed
        .iter()
        .map(|flagged| format!("{} ({})", names::printable(flagged.path.as_bytes()), flagged.why));
    let lines: Vec<_> = lines.collect();
    let what = format!("the commits change files that need your word: {}", lines.join(", "));
    let options = unnamed.iter().take(WAYS_SHOWN);
    let options = options.map(|it| format!(" --flagged {}", names::printable(it.path.as_bytes())));
    let more = if unnamed.len() > WAYS_SHOWN { " …" } else { "" };
    let next = format!(
        "read them with `loop diff`, then `loop branch {}{}{more}`",
        names::printable(request.name.as_bytes()),
        options.collect::<String>()
    );
    Err(Problem::new(exit::DENIED, what).with_next(next))
}

fn report(
    run: &RunDirectory,
    place: &Place,
    name: &RefName,
    found: &Found,
    branched: Option<Branched>,
) -> BranchReport {
    let commit = |commit: &git_guard::host::Commit| CommitView {
        id: commit.id.clone(),
        subject: commit.subject.clone(),
    };
    let file = |file: &git_guard::host::FileStat| FileStat {
        path: file.path.clone(),
        lines: file.lines.map(|(added, removed)| LineStat { added, removed }),
    };
    let flagged = |flagged: &git_guard::host::Flagged| FlaggedPath {
        path: flagged.path.clone(),
        why: flagged.why.clone(),
    };
    BranchReport {
        run: run.id.clone(),
        branch: name.branch().unwrap_or(name.as_str()).to_owned(),
        commit: found.tip.to_string(),
        before: branched.as_ref().and_then(|branched| branched.before.clone()),
        against: place.repository.head_branch(),
        commits: found.commits.iter().map(commit).collect(),
        files: found.stat.iter().map(file).collect(),
        flagged: found.flagged.iter().map(flagged).collect(),
        submodules: found.submodules.clone(),
        dry_run: branched.is_none(),
    }
}

fn told(error: TakeError, request: &BranchRequest) -> Problem {
    let name = names::printable(request.name.as_bytes());
    match error {
        TakeError::Exists(_) => error
            .into_problem()
            .with_next(format!("take another name, or move it with `loop branch {name} --force`")),
        other => other.into_problem(),
    }
}

impl IntoProblem for TakeError {
    fn into_problem(self) -> Problem {
        let text = self.to_string();
        match self {
            Self::Host(error) => error.into_problem(),
            Self::NoCommits => Problem::new(exit::NO, text)
                .with_next("`loop diff` shows what it changed; --from REF names another branch"),
            Self::NoRef(_) => {
                Problem::new(exit::NOT_FOUND, text).with_next("name another with --from REF")
            }
            Self::CheckedOut(_) => {
                Problem::new(exit::NO, text).with_next("take another name, and merge it yourself")
            }
            Self::Exists(_) => Problem::new(exit::NO, text),
            Self::Replaced(_) | Self::Unsound(_) => {
                unsafe_because(text).with_next("`loop apply` takes the files, without the commits")
            }
            Self::TooLarge | Self::NotApproved | Self::Write { .. } | Self::Refused(_) => {
                unsafe_because(text)
            }
        }
    }
}

impl IntoProblem for HostError {
    fn into_problem(self) -> Problem {
        let text = self.to_string();
        match self {
            Self::NoGit => Problem::new(exit::NOT_FOUND, text).with_next("install git"),
            Self::NotARepository(_) => Problem::new(exit::NOT_FOUND, text),
            Self::Borrows { from, .. } => unsafe_because(text).with_next(format!(
                "if they are yours to show: GIT_ALTERNATE_OBJECT_DIRECTORIES={} loop git …",
                from.display()
            )),
            Self::Pointer(_) => unsafe_because(text)
                .with_next("look at the file; a repository that you trust is opened by plain git"),
            _ => unsafe_because(text),
        }
    }
}

/// `loop git`.
pub(crate) fn git(settings: &Settings, request: &GitRequest) -> Result<GitReport, Problem> {
    let git = host_git(settings)?;
    let looking = Looking::prepare(&git, &settings.directory, &request.words).or_problem()?;
    // The keys are for git and its pager; what waits here has to stay to clear away.
    sys::signal::leave_to_children(&[Signal::INT, Signal::QUIT]).map_err(unsafe_because)?;
    let status = looking.run().or_problem()?;
    let code = status.code().or_else(|| Some(SIGNALLED + status.signal()?)).unwrap_or(SIGNALLED);
    let code = u8::try_from(code).unwrap_or(exit::UNSAFE);
    Ok(GitReport { code, ignored_refs: looking.ignored_refs() as u64 })
}

impl IntoProblem for Unfit {
    fn into_problem(self) -> Problem {
        let text = self.to_string();
        match self {
            Self::Host(error) => error.into_problem(),
            Self::NoCommand => {
                Problem::new(exit::USAGE, text).with_next("for example: loop git log --oneline")
            }
            Self::Changes(_) => Problem::new(exit::NO, text).with_next(
                "`loop git` only looks. Plain git does it, and obeys what the repository configures",
            ),
            Self::Shell(_) => Problem::new(exit::NO, text)
                .with_next("`loop git` knows only what git's own commands do; spell it out"),
            Self::Elsewhere(_) => Problem::new(exit::NO, text).with_next("name a directory with -C"),
        }
    }
}
