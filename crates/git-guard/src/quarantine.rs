//! The objects of a push, looked at before they are sent: a bare repository of Loop's own, that
//! borrows the project's objects as data and has nothing else of it.
//!
//! The pack is indexed with every check on. What Git keeps only for speed and a sandbox could have
//! written (commit graphs, replacements, an index of packs) is not believed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use names::{ObjectId, printable};
use policy::guarded::{Meaning, meaning};
use tempfile::TempDir;

use crate::host::Git;

/// Longest that one command of git may take.
const LONGEST: Duration = Duration::from_secs(300);
/// Most bytes of its answer.
const MOST_OUTPUT: u64 = 4 * 1024 * 1024;
/// Most bytes of what it complains about.
const MOST_COMPLAINT: u64 = 4 * 1024;
/// Most commits and files that are shown one by one.
const MOST_COMMITS: usize = 100;
const MOST_FILES: usize = 500;
const MOST_GUARDED: usize = 10;

/// The tree without entries.
const EMPTY_SHA1: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// Settings of every command besides those of the host's git: it is a repository of Loop's own, so
/// what is left is what the person's machine could add, and how the answers are read.
const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("core.bigFileThreshold", "16m"),
    ("pack.threads", "1"),
    ("protocol.allow", "never"),
    ("log.showSignature", "false"),
    ("log.mailmap", "false"),
    ("color.ui", "false"),
];

/// Where pushes are looked at.
#[derive(Debug, Clone)]
pub struct Store {
    /// Nobody else may write here.
    scratch: PathBuf,
    git: Option<Arc<Git>>,
    /// The project's objects, where no sandbox can write them.
    objects: Option<PathBuf>,
    /// The commit that the run began on.
    base: Option<ObjectId>,
}

/// Why the objects of a push can't be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QuarantineError {
    /// There is no git.
    #[error("there is no git on the path")]
    NoGit,
    /// Git can't be started, or the quarantine can't be made.
    #[error("they can't be looked at: {0}")]
    Io(#[from] io::Error),
    /// Git says no.
    #[error("git {what}: {why}")]
    Git {
        /// Which command.
        what: &'static str,
        /// What it said, escaped.
        why: String,
    },
    /// It took too long.
    #[error("git {0} takes too long")]
    Slow(&'static str),
    /// More than is looked at.
    #[error("git {0} says too much")]
    TooMuch(&'static str),
}

impl Store {
    /// A store whose quarantines are made in `scratch`. `variables` are the person's: git is found
    /// on their path. `objects` are the project's, if no sandbox can write them; `base` is the
    /// commit that the run began on.
    #[must_use]
    pub fn new(
        scratch: &Path,
        variables: &BTreeMap<OsString, OsString>,
        objects: Option<PathBuf>,
        base: Option<ObjectId>,
    ) -> Self {
        let git = Git::find(variables, scratch).ok().map(|git| Arc::new(git.plain()));
        Self { scratch: scratch.to_owned(), git, objects, base }
    }

    /// A file without a name, for a body that waits.
    pub(crate) fn spool(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.scratch)
    }

    /// Takes a pack in, from where `pack` stands to its end, and checks it. `like` is any id of the
    /// repository.
    pub(crate) fn take_in(
        &self,
        pack: File,
        like: &ObjectId,
    ) -> Result<Quarantine, QuarantineError> {
        let git = self.git.clone().ok_or(QuarantineError::NoGit)?;
        let place = tempfile::Builder::new().prefix("push-").tempdir_in(&self.scratch)?;
        let long = like.as_str().len() > EMPTY_SHA1.len();
        skeleton(place.path(), long)?;
        let quarantine = Quarantine { place, git, store: self.clone(), long };
        let words = ["index-pack", "--stdin", "--fix-thin", "--strict", "--threads=1"];
        quarantine.run("index-pack", &words, Stdio::from(pack))?;
        Ok(quarantine)
    }
}

fn skeleton(at: &Path, long: bool) -> io::Result<()> {
    for directory in ["objects/pack", "objects/info", "refs"] {
        std::fs::create_dir_all(at.join(directory))?;
    }
    std::fs::write(at.join("HEAD"), "ref: refs/heads/none\n")?;
    let config = match long {
        false => "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
        true => {
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n\
             [extensions]\n\tobjectFormat = sha256\n"
        }
    };
    std::fs::write(at.join("config"), config)
}

/// The objects of one push. They go when this is dropped.
#[derive(Debug)]
pub(crate) struct Quarantine {
    place: TempDir,
    git: Arc<Git>,
    store: Store,
    long: bool,
}

/// What a person is shown of the objects of a push.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// In a line each.
    pub(crate) notes: Vec<String>,
    /// Commits and files, line by line.
    pub(crate) list: String,
}

impl Quarantine {
    /// Whether `new` is known to follow from `old`.
    pub(crate) fn follows(&self, old: &ObjectId, new: &ObjectId) -> bool {
        let words = ["merge-base", "--is-ancestor", old.as_str(), new.as_str()];
        self.run("merge-base", &words, Stdio::null()).is_ok()
    }

    /// What `new` brings that isn't there yet.
    pub(crate) fn show(&self, old: &ObjectId, new: &ObjectId) -> Result<Shown, QuarantineError> {
        let base = self.base(old, new);
        let range = base.as_ref().map_or_else(|| new.to_string(), |base| format!("{base}..{new}"));
        let mut shown = Shown::default();
        let count = self.count(&range)?;
        let lost = match (old.is_null(), &base) {
            (false, Some(base)) if base != old => Some(self.count(&format!("{base}..{old}"))?),
            _ => None,
        };
        self.commits(&range, count, &mut shown)?;
        let files = self.files(base.as_ref(), new)?;
        let (added, removed) = files.iter().fold((0, 0), |(added, removed), file| {
            (added + file.added.unwrap_or(0), removed + file.removed.unwrap_or(0))
        });
        let total = files.len();
        let (commits, changed) = (many(count, "commit"), many(total as u64, "file"));
        shown.notes.push(format!("{commits}, {changed} changed, +{added} -{removed}"));
        let lost = lost.map(|lost| format!("discards {} of the remote", many(lost, "commit")));
        shown.notes.extend(lost);
        if base.is_none() {
            shown.notes.push("no commit here is known to be there already".to_owned());
        }
        guarded(&files, &mut shown);
        list(&files, &mut shown);
        Ok(shown)
    }

    /// The last commit that `new` has in common with what was there before.
    fn base(&self, old: &ObjectId, new: &ObjectId) -> Option<ObjectId> {
        let known = [Some(old).filter(|old| !old.is_null()), self.store.base.as_ref()];
        known.into_iter().flatten().find_map(|known| {
            let words = ["merge-base", known.as_str(), new.as_str()];
            let found = self.run("merge-base", &words, Stdio::null()).ok()?;
            ObjectId::parse(String::from_utf8(found).ok()?.lines().next()?).ok()
        })
    }

    fn count(&self, range: &str) -> Result<u64, QuarantineError> {
        let counted = self.run("rev-list", &["rev-list", "--count", range, "--"], Stdio::null())?;
        let text = String::from_utf8_lossy(&counted);
        text.trim().parse().map_err(|_| QuarantineError::TooMuch("rev-list"))
    }

    fn commits(&self, range: &str, count: u64, shown: &mut Shown) -> Result<(), QuarantineError> {
        let most = format!("--max-count={MOST_COMMITS}");
        let words = ["log", "-z", "--no-decorate", "--format=%h %s", &most, range, "--"];
        let told = self.run("log", &words, Stdio::null())?;
        for line in told.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            shown.list.push_str(&format!(" {}\n", printable(line)));
        }
        let left = count.saturating_sub(MOST_COMMITS as u64);
        if left > 0 {
            shown.list.push_str(&format!(" and {left} more commits\n"));
        }
        Ok(())
    }

    fn files(
        &self,
        base: Option<&ObjectId>,
        new: &ObjectId,
    ) -> Result<Vec<Changed>, QuarantineError> {
        let empty = if self.long { EMPTY_SHA256 } else { EMPTY_SHA1 };
        let base = base.map_or(empty, ObjectId::as_str);
        let tree = format!("{new}^{{tree}}");
        let words = [
            "diff-tree",
            "-r",
            "-z",
            "--numstat",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            base,
            &tree,
            "--",
        ];
        let told = self.run("diff-tree", &words, Stdio::null())?;
        let entries = told.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        Ok(entries.filter_map(Changed::read).collect())
    }

    /// Runs one command of git on the quarantine; gives what it wrote.
    fn run(
        &self,
        what: &'static str,
        words: &[&str],
        input: Stdio,
    ) -> Result<Vec<u8>, QuarantineError> {
        let mut command = self.command(words);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (out, complaint) = (child.stdout.take(), child.stderr.take());
        let watched = Watched::start(child)?;
        let complaint = std::thread::spawn(move || capped(complaint, MOST_COMPLAINT));
        let told = capped(out, MOST_OUTPUT)?;
        let over = told.len() as u64 > MOST_OUTPUT;
        let ended = watched.end(over)?;
        let complaint = complaint.join().unwrap_or_else(|_| Ok(Vec::new()))?;
        match ended {
            _ if over => Err(QuarantineError::TooMuch(what)),
            None => Err(QuarantineError::Slow(what)),
            Some(status) if status.success() => Ok(told),
            Some(_) => {
                let text = String::from_utf8_lossy(&complaint);
                let why = printable(text.lines().next().unwrap_or("it failed").as_bytes());
                Err(QuarantineError::Git { what, why })
            }
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.git.command(None, SETTINGS);
        command.env("GIT_DIR", self.place.path()).current_dir(self.place.path());
        if let Some(objects) = &self.store.objects {
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        }
        command.args(words);
        command
    }
}

/// `1 commit`, `2 commits`.
fn many(count: u64, of: &str) -> String {
    if count == 1 { format!("1 {of}") } else { format!("{count} {of}s") }
}

/// What there is to read, or one byte more than `most`.
fn capped(from: Option<impl io::Read>, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(most + 1).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// A command that is killed when it takes too long.
struct Watched {
    child: Arc<Mutex<Child>>,
    over: std::sync::mpsc::SyncSender<()>,
    watch: std::thread::JoinHandle<bool>,
}

impl Watched {
    fn start(child: Child) -> io::Result<Self> {
        let child = Arc::new(Mutex::new(child));
        let (over, waits) = sync_channel(1);
        let watched = child.clone();
        let watch = std::thread::Builder::new().name("push-watch".to_owned()).spawn(move || {
            let slow = waits.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout);
            if slow {
                let _ = watched.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
            slow
        })?;
        Ok(Self { child, over, watch })
    }

    /// Its end, once it has closed its streams; none if it was too slow.
    fn end(self, kill: bool) -> io::Result<Option<std::process::ExitStatus>> {
        let _ = self.over.try_send(());
        let slow = self.watch.join().unwrap_or(true);
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if kill {
            let _ = child.kill();
        }
        let status = child.wait()?;
        Ok((!slow).then_some(status))
    }
}

/// A file that a push changes; the numbers of lines are none of a binary one.
struct Changed {
    added: Option<u64>,
    removed: Option<u64>,
    path: Vec<u8>,
}

impl Changed {
    /// `ADDED TAB REMOVED TAB PATH`.
    fn read(entry: &[u8]) -> Option<Self> {
        let mut parts = entry.splitn(3, |byte| *byte == b'\t');
        let mut number = || {
            let text = parts.next()?;
            Some(str::from_utf8(text).ok().and_then(|text| text.parse().ok()))
        };
        let (added, removed) = (number()?, number()?);
        Some(Self { added, removed, path: parts.next()?.to_vec() })
    }
}

fn guarded(files: &[Changed], shown: &mut Shown) {
    let of_kind = files.iter().filter_map(|file| Some((file, meaning(&file.path)?)));
    let mut of_kind = of_kind.map(|(file, meaning)| {
        let what = match meaning {
            Meaning::Protected(what) => what,
            Meaning::Instructions => "instructions to agents",
        };
        format!("guarded: {} ({what})", printable(&file.path))
    });
    shown.notes.extend(of_kind.by_ref().take(MOST_GUARDED));
    let left = of_kind.count();
    if left > 0 {
        shown.notes.push(format!("guarded: {left} more files"));
    }
}

fn list(files: &[Changed], shown: &mut Shown) {
    for file in files.iter().take(MOST_FILES) {
        let path = printable(&file.path);
        let line = match (file.added, file.removed) {
            (Some(added), Some(removed)) => format!(" {path} | +{added} -{removed}\n"),
            _ => format!(" {path} | binary\n"),
        };
        shown.list.push_str(&line);
    }
    if files.len() > MOST_FILES {
        shown.list.push_str(&format!(" and {} more files\n", files.len() - MOST_FILES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek as _, Write as _};

    /// A repository with a history, and where quarantines are made.
    struct Scene {
        place: TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let scene = Self { place: tempfile::tempdir().unwrap() };
            std::fs::create_dir(scene.place.path().join("scratch")).unwrap();
            scene.git(&["init", "-q", "-b", "main", "."]);
            scene.commit("one");
            scene
        }

        fn path(&self) -> OsString {
            std::env::var_os("PATH").unwrap()
        }

        #[expect(clippy::disallowed_methods, reason = "the tests' own repository")]
        fn command(&self, words: &[&str]) -> Command {
            let mut command = Command::new("git");
            command.env_clear().env("PATH", self.path()).env("HOME", self.place.path());
            for who in ["AUTHOR", "COMMITTER"] {
                command.env(format!("GIT_{who}_NAME"), "Ada");
                command.env(format!("GIT_{who}_EMAIL"), "ada@example.com");
            }
            std::fs::create_dir_all(self.repository()).unwrap();
            command.current_dir(self.repository()).args(words);
            command
        }

        fn repository(&self) -> PathBuf {
            self.place.path().join("repository")
        }

        fn git(&self, words: &[&str]) -> String {
            let done = self.command(words).output().unwrap();
            let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success(), "{words:?}: {complaint}");
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        }

        fn commit(&self, text: &str) -> ObjectId {
            std::fs::write(self.repository().join(text), text).unwrap();
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "-m", text]);
            self.id("HEAD")
        }

        fn id(&self, name: &str) -> ObjectId {
            ObjectId::parse(&self.git(&["rev-parse", name])).unwrap()
        }

        /// The pack of a push of `new` to a remote that has `old`.
        fn pack(&self, new: &ObjectId, old: &str) -> File {
            let mut command = self.command(&["pack-objects", "--revs", "--thin", "--stdout", "-q"]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            input.write_all(format!("{new}\n{old}\n").as_bytes()).unwrap();
            drop(input);
            let done = child.wait_with_output().unwrap();
            self.file(&done.stdout)
        }

        fn file(&self, bytes: &[u8]) -> File {
            let mut file = tempfile::tempfile_in(self.place.path()).unwrap();
            file.write_all(bytes).unwrap();
            file.rewind().unwrap();
            file
        }

        fn store(&self, base: Option<ObjectId>) -> Store {
            let variables = BTreeMap::from([("PATH".into(), self.path())]);
            let objects = self.repository().join(".git/objects");
            Store::new(&self.place.path().join("scratch"), &variables, Some(objects), base)
        }
    }

    #[test]
    fn what_follows_is_told_from_what_does_not() {
        let scene = Scene::new();
        let base = scene.id("HEAD");
        let new = scene.commit("two");
        let pack = scene.pack(&new, &format!("^{base}"));
        let quarantine = scene.store(None).take_in(pack, &new).unwrap();
        assert!(quarantine.follows(&base, &new));
        assert!(!quarantine.follows(&new, &base));
        let absent = ObjectId::parse(&"1".repeat(40)).unwrap();
        assert!(!quarantine.follows(&absent, &new));
        drop(quarantine);
        assert_eq!(std::fs::read_dir(scene.place.path().join("scratch")).unwrap().count(), 0);
    }

    #[test]
    fn hints_that_lie_are_not_believed() {
        let scene = Scene::new();
        let old = scene.id("HEAD");
        scene.git(&["checkout", "-q", "--orphan", "other"]);
        let new = scene.commit("unrelated");
        // A replacement and a graft say that it follows; the configuration would run something.
        let ran = scene.place.path().join("ran");
        scene.git(&["replace", "--graft", new.as_str(), old.as_str()]);
        scene.git(&["-c", "core.commitGraph=true", "commit-graph", "write", "--reachable"]);
        let touch = format!("touch {}", ran.display());
        for key in ["core.fsmonitor", "core.pager", "diff.external", "core.alternateRefsCommand"] {
            scene.git(&["config", key, &touch]);
        }
        std::fs::write(scene.repository().join(".git/info/grafts"), format!("{new} {old}\n"))
            .unwrap();
        assert!(
            scene
                .command(&["merge-base", "--is-ancestor", old.as_str(), new.as_str()])
                .status()
                .unwrap()
                .success(),
            "the lie is told"
        );
        let pack = scene.pack(&new, "");
        let quarantine = scene.store(None).take_in(pack, &new).unwrap();
        assert!(!quarantine.follows(&old, &new));
        assert!(quarantine.show(&old, &new).is_ok());
        assert!(!ran.exists());
    }

    #[test]
    fn a_submodule_that_is_moved_is_shown() {
        let scene = Scene::new();
        let base = scene.id("HEAD");
        let link = format!("160000,{base},vendor/sub");
        scene.git(&["update-index", "--add", "--cacheinfo", &link]);
        scene.git(&["commit", "-q", "-m", "Moved"]);
        let new = scene.id("HEAD");
        let quarantine =
            scene.store(None).take_in(scene.pack(&new, &format!("^{base}")), &new).unwrap();
        let shown = quarantine.show(&base, &new).unwrap();
        assert!(shown.list.contains("vendor/sub"), "{}", shown.list);
    }

    #[test]
    fn what_a_push_brings_is_shown() {
        let scene = Scene::new();
        let base = scene.id("HEAD");
        std::fs::create_dir(scene.repository().join(".vscode")).unwrap();
        std::fs::write(scene.repository().join(".vscode/tasks.json"), "{}\n").unwrap();
        std::fs::write(scene.repository().join("bin"), b"\0\x01").unwrap();
        let new = scene.commit("two");
        let pack = scene.pack(&new, &format!("^{base}"));
        let store = scene.store(Some(base.clone()));
        let quarantine = store.take_in(pack, &new).unwrap();
        let null = ObjectId::parse(&"0".repeat(40)).unwrap();
        for old in [&null, &base] {
            let shown = quarantine.show(old, &new).unwrap();
            assert_eq!(
                shown.notes,
                [
                    "1 commit, 3 files changed, +2 -0",
                    "guarded: .vscode/tasks.json (editor settings)",
                ]
            );
            let short = new.as_str().get(..7).unwrap();
            let files = " .vscode/tasks.json | +1 -0\n bin | binary\n two | +1 -0\n";
            assert_eq!(shown.list, format!(" {short} two\n{files}"));
        }
        // Without a commit that is known to be there, all of it is new.
        let pack = scene.pack(&new, "");
        let shown = scene.store(None).take_in(pack, &new).unwrap().show(&null, &new).unwrap();
        assert_eq!(shown.notes[0], "2 commits, 4 files changed, +3 -0");
        assert_eq!(shown.notes[1], "no commit here is known to be there already");
    }

    #[test]
    fn a_force_says_what_is_lost() {
        let scene = Scene::new();
        let base = scene.id("HEAD");
        let old = scene.commit("theirs");
        scene.git(&["reset", "-q", "--hard", base.as_str()]);
        let new = scene.commit("ours");
        let pack = scene.pack(&new, &format!("^{base}"));
        let quarantine = scene.store(None).take_in(pack, &new).unwrap();
        let shown = quarantine.show(&old, &new).unwrap();
        assert_eq!(shown.notes[1], "discards 1 commit of the remote");
    }

    #[test]
    fn a_broken_pack_is_refused() {
        let scene = Scene::new();
        let new = scene.id("HEAD");
        let mut bytes = Vec::new();
        scene.pack(&new, "").read_to_end(&mut bytes).unwrap();
        let middle = bytes.len() / 2;
        let mut changed = bytes.clone();
        changed[middle] ^= 1;
        let cut = bytes[..middle].to_vec();
        for bad in [changed, cut, Vec::new(), b"PACK\0\0\0\x02\0\0\0\x01".to_vec()] {
            let taken = scene.store(None).take_in(scene.file(&bad), &new);
            assert!(matches!(taken, Err(QuarantineError::Git { .. })), "{taken:?}");
        }
        let none = Store::new(scene.place.path(), &BTreeMap::new(), None, None);
        let taken = none.take_in(scene.file(&bytes), &new);
        assert!(matches!(taken, Err(QuarantineError::NoGit)));
    }

    #[test]
    fn an_empty_pack_is_a_pack() {
        let scene = Scene::new();
        let base = scene.id("HEAD");
        let new = scene.commit("two");
        let pack = scene.pack(&new, &format!("^{new}"));
        let quarantine = scene.store(None).take_in(pack, &new).unwrap();
        assert!(quarantine.follows(&base, &new));
    }
}
