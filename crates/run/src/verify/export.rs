//! `loop receipt export`: what somebody else needs to verify a run's receipt and to re-execute its
//! checks.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use api::{ExportReport, ExportRequest, Problem, exit};
use names::{Digest, WorkspacePath};
use sandbox::Layout;
use workspace::{Change, Contents, Node, UpperContents};

use super::later::{CONTENTS, original};
use crate::changes::{Trust, sealed};
use crate::inspect::find;
use crate::problem::OrProblem as _;
use crate::settings::Settings;
use crate::store::{self, RunDirectory, StoreError, at, write_new};

/// Writes it.
///
/// # Errors
/// When the run has no receipt, its changes are gone, or the directory is not empty.
pub(crate) fn export(
    settings: &Settings,
    request: &ExportRequest,
) -> Result<ExportReport, Problem> {
    let run = original(settings, find(settings, &request.run)?);
    let changes = sealed(settings, &run, Trust::InSubjects)?;
    let to = settings.absolute(&request.to);
    make_empty(&to)?;
    let files = to.join(CONTENTS);
    fs::DirBuilder::new().mode(0o755).create(&files).map_err(at(&files)).or_problem()?;
    copy_evidence(&run, &to)?;
    let mut written = Written { files, number: 0, bytes: 0 };
    let upper = Layout::of(run.path()).upper();
    let parts: Vec<_> = changes.entries().iter().flat_map(Change::apart).collect();
    let mut contents = parts
        .iter()
        .filter(|part| !part.is_final())
        .filter_map(|part| {
            let Some(Node::File { size, digest, .. }) = &part.after else { return None };
            Some((&part.path, *size, *digest))
        })
        .peekable();
    if contents.peek().is_some() {
        let from = UpperContents::of(&upper).map_err(|_| gone(&run))?;
        for (path, size, digest) in contents {
            written.copy(&from, path, size, digest)?;
        }
    }
    let (files, bytes) = (written.number, written.bytes);
    Ok(ExportReport { run: run.id, directory: to, files, bytes })
}

fn gone(run: &RunDirectory) -> Problem {
    let what = format!("the changes of run {} are gone", run.id);
    Problem::new(exit::NOT_FOUND, what).with_next("what was discarded can't be exported")
}

fn make_empty(directory: &Path) -> Result<(), Problem> {
    match fs::DirBuilder::new().recursive(true).mode(0o755).create(directory) {
        Ok(()) => {}
        Err(error) => return Err(at(directory)(error)).or_problem(),
    }
    let mut names = directory.read_dir().map_err(at(directory)).or_problem()?;
    match names.next() {
        None => Ok(()),
        Some(_) => {
            let what = format!("{} is not empty", directory.display());
            Err(Problem::new(exit::UNSAFE, what).with_next("name a new directory"))
        }
    }
}

/// The files that vouch for the rest, and those that they vouch for.
fn copy_evidence(run: &RunDirectory, to: &Path) -> Result<(), Problem> {
    let besides = [run.contract(), run.heads()].into_iter().filter(|path| path.exists());
    let files = [run.receipt(), run.ledger(), run.changes(), run.authority()];
    files.into_iter().chain(besides).try_for_each(|from| {
        let name = from.file_name().unwrap_or_default();
        let bytes = store::read(&from).map_err(at(&from)).or_problem()?;
        write_new(&to.join(name), &bytes).or_problem()
    })
}

/// Contents by their digest, each once.
struct Written {
    files: PathBuf,
    number: u64,
    bytes: u64,
}

impl Written {
    fn copy(
        &mut self,
        from: &dyn Contents,
        path: &WorkspacePath,
        size: u64,
        digest: Digest,
    ) -> Result<(), Problem> {
        let to = self.files.join(digest.hex());
        if to.exists() {
            return Ok(());
        }
        let found = from.open(path, &digest).and_then(|file| copy(file, &to, size));
        if found.map_err(at(&to)).or_problem()? != digest {
            let problem = format!("{path} is not what the change set says it is");
            let path = self.files.clone();
            return Err(StoreError::Malformed { path, problem }).or_problem();
        }
        self.number += 1;
        self.bytes += size;
        Ok(())
    }
}

/// Copies at most `size` bytes and one more, and digests them.
fn copy(from: File, to: &Path, size: u64) -> io::Result<Digest> {
    let mut to = File::options().create_new(true).write(true).mode(0o644).open(to)?;
    let (mut from, mut digest) = (from.take(size.saturating_add(1)), Digest::hasher());
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        digest.update(bytes);
        to.write_all(bytes)?;
    }
    Ok(digest.finish())
}
