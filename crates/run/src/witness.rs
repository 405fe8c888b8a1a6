//! `loop receipt witness`: a signed head of a run's ledger, kept where who can change the ledger
//! can't reach. It shows later that the ledger was cut short or replaced.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use api::{Problem, WitnessRequest, WitnessView, exit};
use ledger::{Head, SignedHead, SigningKey};
use rustix::fs::{FlockOperation, OFlags};

use crate::inspect;
use crate::keys;
use crate::problem::OrProblem as _;
use crate::settings::Settings;
use crate::store::{RunDirectory, StoreError, at};
use crate::story::{self, Verified};

/// Appends a head of the run's ledger to a file, unless it is there.
///
/// # Errors
/// When the ledger is broken or lacks what the file vouches for, and when the file can't be used.
pub(crate) fn witness(
    settings: &Settings,
    request: &WitnessRequest,
) -> Result<WitnessView, Problem> {
    let run = inspect::find(settings, &request.run)?;
    refuse_beside(settings, &request.to)?;
    let key = match &request.key {
        Some(path) => keys::other_signing_key(path)?,
        None => keys::signing_key(settings)?.0,
    };
    let mut file = Kept::open(&request.to)?;
    let known = file.heads(&run, &key)?;
    let head = head(&run, known.clone())?;
    let added = !known.contains(&head);
    if added {
        file.append(&SignedHead::sign(&run.id, head, (settings.clock)(), &key).or_problem()?)?;
    }
    Ok(WitnessView {
        run: run.id,
        count: head.count,
        hash: head.hash,
        key: key.id().to_string(),
        file: request.to.clone(),
        added,
    })
}

/// Who can change a ledger can change what lies beside it.
fn refuse_beside(settings: &Settings, to: &Path) -> Result<(), Problem> {
    let above = to.parent().filter(|above| !above.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new(".")).canonicalize().map_err(at(to)).or_problem()?;
    let runs = settings.runs();
    if runs.canonicalize().is_ok_and(|runs| above.starts_with(runs)) {
        let what = format!("{} is among the runs, whose ledgers it should witness", to.display());
        let next = "keep it where others write: another user's directory, another machine";
        return Err(Problem::new(exit::USAGE, what).with_next(next));
    }
    Ok(())
}

/// The head to vouch for: of an ended run all of its ledger, of one that goes on what is known to be
/// on disk.
fn head(run: &RunDirectory, known: Vec<Head>) -> Result<Head, Problem> {
    let busy = run.is_busy();
    let signed = story::signed_heads(run, &mut Vec::new());
    let chain = Verified::read_knowing(run, busy, known)?.chain;
    if let Some(problem) = chain.problem {
        let what = format!("there is nothing to vouch for: {problem}");
        return Err(Problem::new(exit::NO, what).with_next("see `loop audit`"));
    }
    let all = chain.head.map(|hash| Head { count: chain.count, hash });
    let head = if busy { signed.into_iter().max_by_key(|head| head.count) } else { all };
    head.ok_or_else(|| {
        let what = format!("run {} has just begun, and nothing of it is signed yet", run.id);
        Problem::new(exit::NOT_FOUND, what).with_next("try again in a moment")
    })
}

/// The file, held against other processes that do the same.
struct Kept {
    file: File,
    path: PathBuf,
}

impl Kept {
    fn open(path: &Path) -> Result<Self, Problem> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::options()
            .create(true)
            .read(true)
            .append(true)
            .mode(0o644)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
            .map_err(at(path))
            .or_problem()?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| at(path)(error.into()))
            .or_problem()?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// What it has of this run with this key's signature.
    fn heads(&mut self, run: &RunDirectory, key: &SigningKey) -> Result<Vec<Head>, Problem> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).map_err(at(&self.path)).or_problem()?;
        if bytes.last().is_some_and(|last| *last != b'\n') {
            return Err(self.malformed("its last line is not whole; delete that line".to_owned()));
        }
        let heads = ledger::signed_heads(&bytes);
        let heads = heads.map_err(|error| self.malformed(error.to_string()))?;
        let own = key.verifying();
        let ours = heads.iter().filter(|it| *it.run() == run.id && it.is_signed_by(&own));
        Ok(ours.map(SignedHead::head).collect())
    }

    fn malformed(&self, problem: String) -> Problem {
        use crate::problem::IntoProblem as _;
        StoreError::Malformed { path: self.path.clone(), problem }.into_problem()
    }

    fn append(&mut self, head: &SignedHead) -> Result<(), Problem> {
        let line = head.to_line().or_problem()?;
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_all());
        written.map_err(at(&self.path)).or_problem()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::fixture::World;
    use ledger::{LedgerReport, LedgerRequirements};

    fn request(world: &World, key: Option<PathBuf>) -> WitnessRequest {
        let to = world.settings.homes.home.join("witness.jsonl");
        WitnessRequest { run: world.newest(), to, key }
    }

    #[test]
    fn a_head_is_kept_once_and_shows_a_shorter_ledger() {
        let world = World::new();
        let run = world.run(&[]);
        let second = world.settings.homes.home.join("second");
        let key = SigningKey::create(&second, [7; 32]).unwrap();
        let asked = request(&world, Some(second));
        let first = witness(&world.settings, &asked).unwrap();
        assert!(first.added && first.count == 7 && first.key == key.id().to_string());
        assert!(!witness(&world.settings, &asked).unwrap().added);
        let own = witness(&world.settings, &request(&world, None)).unwrap();
        assert!(own.added, "another key vouches for itself");
        let kept = fs::read(&asked.to).unwrap();
        assert_eq!(ledger::signed_heads(&kept).unwrap().len(), 2);

        let bytes = fs::read(run.ledger()).unwrap();
        let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let shorter = lines[..6].concat();
        let requirements = LedgerRequirements {
            keys: vec![key.verifying().into()],
            witness: Some(&kept),
            ..LedgerRequirements::default()
        };
        assert!(LedgerReport::on(&bytes, &requirements).accepted());
        let report = LedgerReport::on(&shorter, &requirements);
        assert!(report.to_text().contains("cut short: 6 records where 7 are known"));
        fs::write(run.ledger(), shorter).unwrap();
        fs::remove_file(run.receipt()).unwrap();
        let problem = witness(&world.settings, &asked).unwrap_err();
        assert!(problem.code == exit::NO && problem.what.contains("cut short"), "{problem:?}");
    }

    #[test]
    fn a_place_or_a_file_that_does_not_do_is_named() {
        let world = World::new();
        let run = world.run(&[]);
        let told = |to: PathBuf| {
            let asked = WitnessRequest { to, ..request(&world, None) };
            witness(&world.settings, &asked).unwrap_err().what
        };
        assert!(told(run.path().join("witness")).contains("among the runs"));
        for (key, code, what) in [
            ("second.pub", exit::USAGE, "second.pub is a public key, which signs nothing"),
            ("none", exit::NOT_FOUND, "could not be opened"),
            ("text", exit::UNSAFE, "text: not a key"),
        ] {
            let home = &world.settings.homes.home;
            crate::keys::key_create(&world.settings, &home.join("second.key")).ok();
            crate::store::write_new(&home.join("text"), b"no key\n").ok();
            let problem = witness(&world.settings, &request(&world, Some(home.join(key))));
            let problem = problem.unwrap_err();
            assert!(problem.code == code && problem.what.contains(what), "{problem:?}");
            assert!(!problem.next.unwrap().contains("new one made"));
        }
        let home = &world.settings.homes.home;
        assert!(told(home.join("none/witness")).contains("none/witness"));
        for (name, text) in [("half", "{}"), ("other", "{}\n")] {
            fs::write(home.join(name), text).unwrap();
            assert!(told(home.join(name)).contains(name));
            assert_eq!(fs::read_to_string(home.join(name)).unwrap(), text);
        }
    }
}
