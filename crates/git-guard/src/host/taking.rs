//! A run's commits, taken over as objects: nothing of its repository but what the commits are made
//! of reaches the other one.
//!
//! The run's objects are copied into a private store, packed from there, and the pack is read into
//! a second one by `git index-pack --strict`, which computes every name anew and checks every
//! object. Only if all that the commits need is there then does the pack move over, and a ref is
//! made. What the run says that its refs, packs and objects are counts for nothing after that.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use broker::Permit;
use names::{ObjectId, RefName, printable};
use policy::{Branch, guarded};
use rustix::fs::{AtFlags, Mode, OFlags};
use serde::Serialize;

use super::HostError;
use super::environment::Git;
use super::private::{Private, Refer};
use super::refs::{Refs, Target};
use super::repository::{Overlays, Repository};
use super::tree::{Entry, Tree};

/// Most bytes of objects that a run may have written.
const OBJECTS_MAX: u64 = 64 << 30;
/// Longest answer of git that is kept whole, in bytes.
const ANSWER_MAX: usize = 256 << 20;
/// Longest target of a link that is looked at, in bytes.
const LINK_MAX: usize = 4096;
/// Most of git's complaint that is told, in bytes.
const COMPLAINT: usize = 400;

/// Why commits can't be taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Git can't be used on the repository.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Nothing is new.
    #[error("the run has no commits that the project does not have")]
    NoCommits,
    /// There is no such ref in the run.
    #[error("the run's repository has no {0}")]
    NoRef(String),
    /// The run made commits look like others.
    #[error("the run's repository has {0}, which show other commits than there are")]
    Replaced(&'static str),
    /// The objects are not sound, or not all there.
    #[error("the run's commits can't be taken: {0}")]
    Unsound(String),
    /// More than is looked at.
    #[error("the run wrote more than {OBJECTS_MAX} bytes of objects")]
    TooLarge,
    /// The branch is there already.
    #[error("there is a branch {0} already")]
    Exists(String),
    /// The branch is checked out.
    #[error("the branch {0} is checked out")]
    CheckedOut(String),
    /// The permit is for another branch or commit.
    #[error("what would be taken is not what was approved")]
    NotApproved,
    /// The repository can't be written to.
    #[error("can't write to {}: {source}", .path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Git refused to make the branch.
    #[error("git makes no such branch: {0}")]
    Refused(String),
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// Its name.
    pub id: String,
    /// The first line of its message, as it is.
    pub subject: String,
}

/// A path that commits change and that means more than its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flagged {
    /// The path.
    pub path: String,
    /// What it is.
    pub why: String,
}

/// Commits that were found sound, in a store of their own.
#[derive(Debug)]
pub struct Found {
    quarantine: Private,
    pack: String,
    /// The newest.
    pub tip: ObjectId,
    /// The commits that the repository does not have, newest first.
    pub commits: Vec<Commit>,
    /// Paths that need the person's word.
    pub flagged: Vec<Flagged>,
    /// Submodules whose commit they set; those commits are not taken.
    pub submodules: Vec<String>,
    /// Lines added and removed, and files, since the commit that both have in common.
    pub stat: Vec<FileStat>,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileStat {
    /// Its path.
    pub path: String,
    /// Lines added and removed; none of a binary file.
    pub lines: Option<(u64, u64)>,
}

/// A branch that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Branched {
    /// Its full name.
    pub reference: String,
    /// Where it is.
    pub commit: String,
    /// Where it was.
    pub before: Option<String>,
}

/// What to take, and for whom.
#[derive(Debug)]
pub struct Taking<'a> {
    /// Git of this machine.
    pub git: &'a Git,
    /// The project's repository.
    pub repository: &'a Repository,
    /// What the run wrote over its directories.
    pub overlays: &'a Overlays,
}

impl Taking<'_> {
    /// How many commits a run has that its project does not; cheap where it wrote no objects.
    ///
    /// # Errors
    /// When they can't be looked at.
    pub fn has_objects(&self) -> Result<bool, HostError> {
        let written = self.overlays.written(&self.repository.common)?;
        let failed = |source| HostError::Read { path: self.repository.common.clone(), source };
        let objects = match written {
            Some(tree) => tree.tree("objects").map_err(failed)?,
            None => None,
        };
        let names = objects.map(|objects| objects.names()).transpose().map_err(failed)?;
        Ok(names.is_some_and(|names| names.iter().any(|name| is_fan(name) || name == b"pack")))
    }

    /// How many commits what is checked out in the run has that the project does not. To tell a
    /// person, and not to rest on: the objects are looked at where the run left them.
    ///
    /// # Errors
    /// When they can't be looked at.
    pub fn count(&self) -> Result<u64, TakeError> {
        if !self.has_objects()? {
            return Ok(0);
        }
        let refs = Refs::read(self.repository, self.overlays)?;
        let Some(head) = refs.resolve("HEAD") else { return Ok(0) };
        let before = Refs::read(self.repository, &Overlays::default())?;
        if before.by_name.values().any(|target| *target == Target::Object(head.clone())) {
            return Ok(0);
        }
        let upper = self.overlays.written_path(&self.repository.common);
        let also = upper.map(|upper| upper.join("objects")).into_iter();
        let also: Vec<_> = also.chain(self.repository.borrowed()?).collect();
        let private = Private::of(&self.git.plain(), self.repository, &Refer::Refs, &also)?;
        let count = private.text(&["rev-list", "--count", head.as_str(), "--not", "--all"])?;
        Ok(count.trim().parse().unwrap_or(0))
    }

    /// Finds the commits that `from`, or what is checked out in the run, leads to. Nothing of the
    /// project's repository changes.
    ///
    /// # Errors
    /// When there are none, or they are not sound.
    pub fn find(&self, from: Option<&str>) -> Result<Found, TakeError> {
        let refs = Refs::read(self.repository, self.overlays)?;
        self.refuse_replaced(&refs)?;
        let word = from.unwrap_or("HEAD");
        let named = refs.named(word);
        let id = named.ok_or_else(|| TakeError::NoRef(printable(word.as_bytes())))?;
        if !self.has_objects()? {
            return Err(TakeError::NoCommits);
        }
        let git = self.git.plain();
        let borrowed = self.repository.borrowed()?;
        let staging = Private::of(&git, self.repository, &Refer::Refs, &borrowed)?;
        self.stage(&staging)?;
        let tip = staging.commit(&id)?;
        if staging.text(&["rev-list", "--count", tip.as_str(), "--not", "--all"])?.trim() == "0" {
            return Err(TakeError::NoCommits);
        }
        let quarantine = Private::of(&git, self.repository, &Refer::Refs, &borrowed)?;
        let pack = carry(&staging, &quarantine, &tip)?;
        drop(staging);
        quarantine.text(&["rev-list", "--objects", "--quiet", tip.as_str(), "--not", "--all"])?;
        Found::read(quarantine, pack, tip)
    }

    /// Inside, these made git show something else than there is: what would be taken is not what
    /// anybody saw.
    fn refuse_replaced(&self, refs: &Refs) -> Result<(), TakeError> {
        let before = Refs::read(self.repository, &Overlays::default())?;
        let is_new = |(name, target): (&String, &Target)| {
            name.starts_with("refs/replace/") && before.by_name.get(name) != Some(target)
        };
        if refs.by_name.iter().any(is_new) {
            return Err(TakeError::Replaced("replacements of objects"));
        }
        let written = self.overlays.written(&self.repository.common)?;
        let failed = |source| HostError::Read { path: self.repository.common.clone(), source };
        let Some(written) = written else { return Ok(()) };
        let has = |path| written.at(path).map(|entry| entry.is_some()).map_err(failed);
        if has("info/grafts")? {
            return Err(TakeError::Replaced("grafts"));
        }
        if has("shallow")? {
            return Err(TakeError::Replaced("commits without their parents"));
        }
        Ok(())
    }

    /// Copies what the run wrote of objects. Its indexes of packs are made anew.
    fn stage(&self, staging: &Private) -> Result<(), TakeError> {
        let failed = |source| HostError::Read { path: self.repository.common.clone(), source };
        let Some(written) = self.overlays.written(&self.repository.common)? else {
            return Ok(());
        };
        let Some(objects) = written.tree("objects").map_err(failed)? else { return Ok(()) };
        let mut left = OBJECTS_MAX;
        for fan in objects.names().map_err(failed)?.into_iter().filter(|name| is_fan(name)) {
            if let Some(Entry::Tree(tree)) = objects.entry(&fan).map_err(failed)? {
                let to = staging.objects().join(String::from_utf8_lossy(&fan).as_ref());
                copy_all(&tree, &to, is_loose, &mut left)?;
            }
        }
        if let Some(packs) = objects.tree("pack").map_err(failed)? {
            let to = staging.objects().join("pack");
            for pack in copy_all(&packs, &to, is_pack, &mut left)? {
                let pack = pack.to_string_lossy().into_owned();
                staging.text(&["index-pack", &pack])?;
            }
        }
        Ok(())
    }
}

fn is_hex(name: &[u8]) -> bool {
    name.iter().all(u8::is_ascii_hexdigit)
}

fn is_fan(name: &[u8]) -> bool {
    name.len() == 2 && is_hex(name)
}

fn is_loose(name: &[u8]) -> bool {
    matches!(name.len(), 38 | 62) && is_hex(name)
}

fn is_pack(name: &[u8]) -> bool {
    let id = name.strip_prefix(b"pack-").and_then(|rest| rest.strip_suffix(b".pack"));
    id.is_some_and(|id| matches!(id.len(), 40 | 64) && is_hex(id))
}

/// Copies the regular files of a directory whose names are wanted.
fn copy_all(
    from: &Tree,
    to: &Path,
    wanted: fn(&[u8]) -> bool,
    left: &mut u64,
) -> Result<Vec<PathBuf>, TakeError> {
    let failed = |source| HostError::Private(source);
    std::fs::create_dir_all(to).map_err(failed)?;
    let mut copied = Vec::new();
    for name in from.names().map_err(failed)?.into_iter().filter(|name| wanted(name)) {
        let Some(Entry::File(file)) = from.entry(&name).map_err(failed)? else { continue };
        let at = to.join(String::from_utf8_lossy(&name).as_ref());
        let mut target = File::create_new(&at).map_err(failed)?;
        let length = io::copy(&mut (&file).take(left.saturating_add(1)), &mut target);
        *left = left.checked_sub(length.map_err(failed)?).ok_or(TakeError::TooLarge)?;
        copied.push(at);
    }
    Ok(copied)
}

/// Packs what `tip` needs and the repository lacks, and reads it into the quarantine.
fn carry(staging: &Private, quarantine: &Private, tip: &ObjectId) -> Result<String, TakeError> {
    let start = |source| TakeError::Host(HostError::Start(source));
    let list = staging.bytes(&["rev-list", "--objects", tip.as_str(), "--not", "--all"])?;
    let mut packing = staging.command();
    packing.args(["pack-objects", "--quiet", "--stdout"]);
    packing.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut packing = packing.spawn().map_err(start)?;
    // It reads the whole list before it writes.
    let told = packing.stdin.take().map(|mut stdin| stdin.write_all(&list));
    let mut reading = quarantine.command();
    reading.args(["index-pack", "--stdin", "--strict"]);
    reading.current_dir("/").stdin(packing.stdout.take().map_or_else(Stdio::null, Stdio::from));
    let read = reading.output().map_err(start);
    // Whatever became of the reader: the packer is not left behind.
    let packed = packing.wait_with_output().map_err(start)?;
    let read = read?;
    told.transpose().map_err(start)?;
    if !packed.status.success() {
        return Err(TakeError::Unsound(complaint(&packed.stderr)));
    }
    if !read.status.success() {
        return Err(TakeError::Unsound(complaint(&read.stderr)));
    }
    let text = String::from_utf8_lossy(&read.stdout);
    let id = text.trim().strip_prefix("pack\t").and_then(|id| ObjectId::parse(id).ok());
    id.map(|id| id.to_string()).ok_or_else(|| TakeError::Unsound("git made no pack".to_owned()))
}

/// The end of what git said, harmless.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = lines.join("; ");
    let start = text.len().saturating_sub(COMPLAINT);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    printable(text.get(start..).unwrap_or_default().as_bytes())
}

impl Private {
    /// What git answers, if it succeeds.
    fn bytes(&self, args: &[&str]) -> Result<Vec<u8>, TakeError> {
        let output = self.answer(args).map_err(HostError::Start)?;
        if !output.status.success() {
            return Err(TakeError::Unsound(complaint(&output.stderr)));
        }
        if output.stdout.len() > ANSWER_MAX {
            return Err(TakeError::TooLarge);
        }
        Ok(output.stdout)
    }

    fn text(&self, args: &[&str]) -> Result<String, TakeError> {
        Ok(String::from_utf8_lossy(&self.bytes(args)?).into_owned())
    }

    /// The commit that an object is, or a tag is of.
    fn commit(&self, id: &ObjectId) -> Result<ObjectId, TakeError> {
        let commit = format!("{id}^{{commit}}");
        let text = self.text(&["rev-parse", "--verify", "--quiet", &commit])?;
        ObjectId::parse(text.trim()).map_err(|_| TakeError::NoRef(id.to_string()))
    }
}

impl Found {
    fn read(quarantine: Private, pack: String, tip: ObjectId) -> Result<Self, TakeError> {
        let new = [tip.as_str(), "--not", "--all"];
        let log = [&["log", "-z", "--format=%H %s", "--encoding=UTF-8"][..], &new].concat();
        let text = quarantine.text(&log)?;
        let commits = text.split('\0').filter_map(|entry| entry.split_once(' '));
        let commits = commits
            .map(|(id, subject)| Commit { id: id.to_owned(), subject: subject.to_owned() })
            .collect();
        let changes = [
            &[
                "log",
                "-z",
                "--format=",
                "--raw",
                "--no-abbrev",
                "--no-renames",
                "-r",
                "-c",
                "--root",
                "--ignore-submodules=none",
            ][..],
            &new,
        ]
        .concat();
        let changes = Changes::parse(&quarantine.bytes(&changes)?);
        let mut found = Self {
            stat: stat(&quarantine, &tip)?,
            quarantine,
            pack,
            tip,
            commits,
            flagged: Vec::new(),
            submodules: changes.submodules.iter().map(|path| text_of(path)).collect(),
        };
        found.flag(&changes)?;
        Ok(found)
    }

    fn flag(&mut self, changes: &Changes) -> Result<(), TakeError> {
        for path in &changes.paths {
            if let Some(meaning) = guarded::meaning(path) {
                let why = match meaning {
                    guarded::Meaning::Protected(what) => what,
                    guarded::Meaning::Instructions => "instructions that agents obey",
                };
                self.flagged.push(Flagged { path: text_of(path), why: why.to_owned() });
            }
        }
        for (path, blob) in &changes.links {
            let target = self.quarantine.bytes(&["cat-file", "blob", blob])?;
            if target.len() > LINK_MAX || leaves(path, &target) {
                let why = format!("a link that leaves the project: {}", printable(&target));
                self.flagged.push(Flagged { path: text_of(path), why });
            }
        }
        Ok(())
    }
}

/// A path as text; what is not UTF-8 in it is replaced.
fn text_of(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Whether a link in a tree leads out of it.
fn leaves(path: &[u8], target: &[u8]) -> bool {
    if target.starts_with(b"/") {
        return true;
    }
    let mut depth = path.iter().filter(|byte| **byte == b'/').count();
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." if depth == 0 => return true,
            b".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// What commits change: git-diff-tree(1), raw format, with NULs.
#[derive(Debug, Default)]
struct Changes {
    paths: BTreeSet<Vec<u8>>,
    links: BTreeSet<(Vec<u8>, String)>,
    submodules: BTreeSet<Vec<u8>>,
}

impl Changes {
    fn parse(raw: &[u8]) -> Self {
        let mut changes = Self::default();
        let mut fields = raw.split(|byte| *byte == 0);
        while let Some(field) = fields.next() {
            // Between commits there may be an empty line.
            let text = String::from_utf8_lossy(field);
            let text = text.trim_start_matches('\n');
            if !text.starts_with(':') {
                continue;
            }
            let Some(path) = fields.next() else { break };
            changes.add(text, path);
        }
        changes
    }

    /// `:old-modes new-mode old-ids new-id status`, with as many old ones as colons.
    fn add(&mut self, header: &str, path: &[u8]) {
        let parents = header.bytes().take_while(|byte| *byte == b':').count();
        let words: Vec<&str> = header.trim_start_matches(':').split(' ').collect();
        let mode = words.get(parents).copied().unwrap_or_default();
        let id = words.get(2 * parents + 1).copied().unwrap_or_default();
        match mode {
            "120000" => drop(self.links.insert((path.to_vec(), id.to_owned()))),
            "160000" => drop(self.submodules.insert(path.to_vec())),
            _ => {}
        }
        self.paths.insert(path.to_vec());
    }
}

/// What differs from the last commit that what is checked out and the new commits share.
fn stat(quarantine: &Private, tip: &ObjectId) -> Result<Vec<FileStat>, TakeError> {
    let base =
        quarantine.answer(&["merge-base", "HEAD", tip.as_str()]).map_err(HostError::Start)?;
    let base = String::from_utf8_lossy(&base.stdout).trim().to_owned();
    let base = match ObjectId::parse(&base) {
        Ok(base) => base.to_string(),
        Err(_) => quarantine.text(&["hash-object", "-t", "tree", "/dev/null"])?.trim().to_owned(),
    };
    let args = ["diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
    let text = quarantine.bytes(&[&args[..], &[&base, tip.as_str()]].concat())?;
    let entries = text.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    Ok(entries.filter_map(FileStat::parse).collect())
}

impl FileStat {
    fn parse(entry: &[u8]) -> Option<Self> {
        let mut fields = entry.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
        let (added, removed): (Option<u64>, Option<u64>) = (number(), number());
        Some(Self { path: text_of(fields.next()?), lines: added.zip(removed) })
    }
}

/// Whether a branch may be made or moved to where it is not yet.
pub(super) fn refuse_taken(
    repository: &Repository,
    refs: &Refs,
    name: &RefName,
    force: bool,
) -> Result<(), TakeError> {
    let short = name.branch().unwrap_or(name.as_str()).to_owned();
    if repository.checked_out()?.iter().any(|branch| branch == name.as_str()) {
        return Err(TakeError::CheckedOut(short));
    }
    if refs.by_name.contains_key(name.as_str()) && !force {
        return Err(TakeError::Exists(short));
    }
    Ok(())
}

impl Taking<'_> {
    /// Refuses a branch that is there already, unless it is to be moved, and one that is checked
    /// out anyway.
    ///
    /// # Errors
    /// See [`TakeError`].
    pub fn check_name(&self, name: &RefName, force: bool) -> Result<(), TakeError> {
        let refs = Refs::read(self.repository, &Overlays::default())?;
        refuse_taken(self.repository, &refs, name, force)
    }
}

/// Moves the objects into the project's repository and makes the branch.
///
/// # Errors
/// When it is not what was permitted, or the repository can't be written to. Objects that are there
/// without a branch mean nothing; git removes them in time.
pub fn branch(
    permit: &Permit<Branch>,
    taking: &Taking<'_>,
    found: &Found,
    force: bool,
) -> Result<Branched, TakeError> {
    let act = permit.act();
    let approved = found.flagged.iter().all(|flagged| act.flagged.contains(&flagged.path));
    if act.commit != found.tip.as_str() || !approved {
        return Err(TakeError::NotApproved);
    }
    let repository = taking.repository;
    let refs = Refs::read(repository, &Overlays::default())?;
    refuse_taken(repository, &refs, &act.reference, force)?;
    let before = refs.resolve(act.reference.as_str());
    move_pack(repository, found)?;
    let joined = Private::of(&taking.git.plain(), repository, &Refer::Linked, &[])?;
    let zero = "0".repeat(found.tip.as_str().len());
    let expected = before.as_ref().map_or(zero.as_str(), ObjectId::as_str);
    let why = format!("loop branch: {}", act.run);
    let (name, tip) = (act.reference.as_str(), found.tip.as_str());
    let args = ["update-ref", "--no-deref", "--create-reflog", "-m", &why, name, tip, expected];
    let output = joined.answer(&args).map_err(HostError::Start)?;
    if !output.status.success() {
        return Err(TakeError::Refused(complaint(&output.stderr)));
    }
    let before = before.map(|id| id.to_string());
    Ok(Branched { reference: name.to_owned(), commit: tip.to_owned(), before })
}

/// The pack first and its index last: git uses a pack that has an index.
fn move_pack(repository: &Repository, found: &Found) -> Result<(), TakeError> {
    let path = repository.common.join("objects/pack");
    let failed = |source| TakeError::Write { path: path.clone(), source };
    let to = open_packs(&repository.common).map_err(failed)?;
    let from = found.quarantine.objects().join("pack");
    for end in ["pack", "idx"] {
        let name = format!("pack-{}.{end}", found.pack);
        let file = File::open(from.join(&name)).map_err(failed)?;
        place(&file, &to, &name).map_err(failed)?;
    }
    rustix::fs::fsync(&to).map_err(|errno| failed(errno.into()))
}

fn open_packs(common: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = rustix::fs::openat(rustix::fs::CWD, common, flags, Mode::empty())?;
    for name in ["objects", "pack"] {
        match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        directory = rustix::fs::openat(&directory, name, flags, Mode::empty())?;
    }
    Ok(directory)
}

/// Puts a file in place whole, on the disk, or not at all. One of that name has that content.
fn place(mut from: &File, to: &OwnedFd, name: &str) -> io::Result<()> {
    let partial = format!("tmp_loop_{name}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // What a crash left.
    let _ = rustix::fs::unlinkat(to, &partial, AtFlags::empty());
    let mut file = File::from(rustix::fs::openat(to, &partial, flags, Mode::from_raw_mode(0o444))?);
    let placed = io::copy(&mut from, &mut file)
        .and_then(|_| file.sync_all())
        .and_then(|()| Ok(rustix::fs::renameat(to, &partial, to, name)?));
    if placed.is_err() {
        // It means nothing under this name, and git removes such files in time.
        let _ = rustix::fs::unlinkat(to, &partial, AtFlags::empty());
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_out_are_told_from_those_that_do_not() {
        for (path, target) in [("a", "/etc"), ("a", ".."), ("a/b", "../../x"), ("a", "b/../../x")] {
            assert!(leaves(path.as_bytes(), target.as_bytes()), "{path} {target}");
        }
        for (path, target) in [("a", "b"), ("a/b", "../c"), ("a/b/c", "../../d"), ("a", "./b/..")] {
            assert!(!leaves(path.as_bytes(), target.as_bytes()), "{path} {target}");
        }
    }

    #[test]
    fn raw_changes_are_read_also_of_merges() {
        let raw = b":100644 100644 aa bb M\0plain\0\n:000000 120000 00 cc A\0link\0::100644 100755 160000 aa bb dd MM\0sub\0";
        let changes = Changes::parse(raw);
        assert_eq!(changes.paths.len(), 3);
        assert_eq!(changes.links.first().unwrap(), &(b"link".to_vec(), "cc".to_owned()));
        assert!(changes.submodules.contains(b"sub".as_slice()));
    }
}
