//! Sessions of the agent: `agent/ID.jsonl` in Loop's state directory. A session has the id of its
//! first run; each run names its session in its start.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use agent::Session;
use api::{Begin, Problem, SessionView, SessionsRequest, exit};
use names::{RunId, Timestamp};

use super::session_file::{SessionFile, SessionFileError};
use crate::prepare::{AgentSession, Standing};
use crate::problem::{OrProblem as _, unsafe_because};
use crate::project::Project;
use crate::settings::Settings;
use crate::store::{self, Meant, Start, Store};

/// Where a conversation begins.
pub(super) enum Begun {
    New,
    Resume(RunId),
    Fork(RunId, Option<u32>),
}

/// A session that this run writes.
pub(super) struct Open {
    pub(super) id: String,
    pub(super) file: SessionFile,
    /// What it held before.
    pub(super) before: Option<Session>,
}

impl Begun {
    /// The session that a request means.
    ///
    /// # Errors
    /// When none or more than one matches.
    pub(super) fn find(
        settings: &Settings,
        project: &Project,
        begin: &Begin,
    ) -> Result<Self, Problem> {
        Ok(match begin {
            Begin::New => Self::New,
            Begin::Resume { session: Some(session) } => Self::Resume(matching(settings, session)?),
            Begin::Resume { session: None } => Self::Resume(newest(settings, project)?),
            Begin::Fork { session, turn } => Self::Fork(matching(settings, session)?, *turn),
        })
    }

    pub(super) fn goes_on(&self) -> bool {
        !matches!(self, Self::New)
    }

    /// How it is typed.
    pub(super) fn flags(&self) -> Vec<String> {
        match self {
            Self::New => Vec::new(),
            Self::Resume(id) => vec!["--resume".to_owned(), id.to_string()],
            Self::Fork(id, None) => vec!["--fork".to_owned(), id.to_string()],
            Self::Fork(id, Some(turn)) => vec!["--fork".to_owned(), format!("{id}@{turn}")],
        }
    }

    /// The session that the run writes.
    pub(super) fn session(&self) -> AgentSession {
        match self {
            Self::New | Self::Fork(..) => AgentSession::Own,
            Self::Resume(id) => AgentSession::Of(id.clone()),
        }
    }

    /// Opens the session for a run that stands.
    ///
    /// # Errors
    /// When it is in use, or can't be read or written.
    pub(super) fn open(self, settings: &Settings, standing: &Standing) -> Result<Open, Problem> {
        let run = &standing.evidence.run.directory.id;
        store::private(&settings.agent_sessions()).or_problem()?;
        let id = self.session().id(run).to_string();
        let (file, before) = match self {
            Self::New => (SessionFile::create(&file(settings, run)).or_problem()?, None),
            Self::Resume(id) => {
                let (file, before) = SessionFile::resume(&file(settings, &id)).or_problem()?;
                (file, Some(before))
            }
            Self::Fork(from, turn) => {
                let before = read(settings, &from)?;
                let now = (settings.clock)();
                let fork = before.fork(turn, &id, now).map_err(|error| {
                    Problem::new(exit::NOT_FOUND, format!("session {from}: {error}"))
                })?;
                (SessionFile::fork(&file(settings, run), &fork).or_problem()?, Some(fork))
            }
        };
        Ok(Open { id, file, before })
    }
}

impl crate::problem::IntoProblem for SessionFileError {
    fn into_problem(self) -> Problem {
        let problem = unsafe_because(&self);
        match self {
            Self::Busy { .. } => problem.with_next("wait until its run has ended, or --fork it"),
            Self::Malformed { .. } => {
                problem.with_next("it was not written by this version, or was changed since")
            }
            Self::Io { .. } => problem,
        }
    }
}

fn file(settings: &Settings, id: &RunId) -> PathBuf {
    settings.agent_sessions().join(format!("{id}.jsonl"))
}

pub(super) fn read(settings: &Settings, id: &RunId) -> Result<Session, Problem> {
    let path = file(settings, id);
    let text = store::read(&path).map_err(store::at(&path)).or_problem()?;
    let read = Session::read(&text);
    read.map(|read| read.session)
        .map_err(|source| SessionFileError::Malformed { path, source })
        .or_problem()
}

/// Every session's id and when it was last written, newest first.
fn all(settings: &Settings) -> Result<Vec<(RunId, Timestamp)>, Problem> {
    let directory = settings.agent_sessions();
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(store::at(&directory)(error)).or_problem(),
    };
    let sessions = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let id = RunId::parse(name.strip_suffix(".jsonl")?).ok()?;
        let written = entry.metadata().ok().filter(fs::Metadata::is_file)?.modified().ok()?;
        let millis = written.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis();
        Some((id, Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))))
    });
    let mut sessions: Vec<_> = sessions.collect();
    sessions.sort_by_key(|(_, written)| std::cmp::Reverse(*written));
    Ok(sessions)
}

fn matching(settings: &Settings, prefix: &str) -> Result<RunId, Problem> {
    let found = all(settings)?.into_iter().map(|(id, _)| id);
    let shown = names::printable(prefix.as_bytes());
    match Meant::by(prefix, found) {
        Meant::One(id) => Ok(id),
        Meant::None => Err(Problem::new(exit::NOT_FOUND, format!("no session matches {shown}"))
            .with_next("`loop sessions --all` lists them")),
        Meant::Several(several) => {
            let what =
                format!("{shown} matches {} sessions: {}", several.len(), store::first(&several));
            Err(unsafe_because(what).with_next("give more of the session's id"))
        }
    }
}

fn newest(settings: &Settings, project: &Project) -> Result<RunId, Problem> {
    let runs = runs(settings)?;
    let here = |id: &RunId| runs.get(id.as_str()).is_some_and(|of| of.project == project.root);
    let found = all(settings)?.into_iter().map(|(id, _)| id).find(here);
    found.ok_or_else(|| {
        let what = format!("no session of {} yet", project.root.display());
        Problem::new(exit::NOT_FOUND, what).with_next("`loop run \"…\"` begins one")
    })
}

/// The runs of a session.
struct Runs {
    project: PathBuf,
    runs: Vec<RunId>,
}

/// By session.
fn runs(settings: &Settings) -> Result<BTreeMap<String, Runs>, Problem> {
    let mut sessions: BTreeMap<String, Runs> = BTreeMap::new();
    let started = Store::new(settings.runs()).started().or_problem()?;
    for (run, Start { agent, project, .. }) in started.into_iter().rev() {
        let Some(session) = agent else { continue };
        let known = sessions.entry(session.to_string());
        known.or_insert(Runs { project, runs: Vec::new() }).runs.push(run.id);
    }
    Ok(sessions)
}

/// `loop sessions`, newest first.
///
/// # Errors
/// When the directory of sessions or runs can't be read.
pub(crate) fn sessions(
    settings: &Settings,
    request: &SessionsRequest,
) -> Result<Vec<SessionView>, Problem> {
    let mut known = runs(settings)?;
    let here = match request.all {
        true => None,
        false => Some(settings.project(request.dir.as_deref())?.root),
    };
    let mut views = Vec::new();
    for (id, last) in all(settings)? {
        let Some(of) = known.remove(id.as_str()) else { continue };
        if here.as_ref().is_none_or(|here| *here == of.project) {
            views.push(view(settings, &id, last, of));
        }
    }
    Ok(views)
}

fn view(settings: &Settings, id: &RunId, last: Timestamp, of: Runs) -> SessionView {
    let empty = SessionView {
        session: id.to_string(),
        last,
        project: of.project,
        task: String::new(),
        model: String::new(),
        turns: 0,
        steps: 0,
        cost_micro_usd: names::MicroUsd(0),
        runs: of.runs,
        broken: None,
    };
    match read(settings, id) {
        Err(problem) => SessionView { broken: Some(problem.what), ..empty },
        Ok(session) => {
            let spent = session.spent();
            SessionView {
                task: session.task().unwrap_or_default().to_owned(),
                model: session.model().unwrap_or_default().to_owned(),
                turns: session.turns(),
                steps: spent.steps,
                cost_micro_usd: spent.cost,
                ..empty
            }
        }
    }
}
