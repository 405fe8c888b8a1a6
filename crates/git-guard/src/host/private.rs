//! A Git directory of Loop's own making, with the objects, refs and index of another one.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::HostError;
use super::environment::Git;
use super::refs::{Refs, Target};
use super::repository::{Overlays, Repository};
use super::tree::{Entry, Tree, read};

/// Longest index that is copied, in bytes.
const INDEX_MAX: u64 = 4 << 30;
/// Longest of the small files, in bytes.
const SMALL_MAX: u64 = 16 << 20;
/// Longest reflogs together, in bytes; longer ones are not shown.
const LOGS_MAX: u64 = 64 << 20;
/// What is half done in a working directory, each a file with object names: git-status(1).
const HALF_DONE: [&str; 5] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "BISECT_LOG"];
/// Programs of Git's own that are asked to work in another repository.
const STUBS: [&str; 4] = ["git", "git-upload-pack", "git-receive-pack", "git-upload-archive"];
/// Scripts of Git's own that commands which look are made of.
const SCRIPTS: [&str; 6] = [
    "git-sh-setup",
    "git-sh-i18n",
    "git-sh-i18n--envsubst",
    "git-difftool--helper",
    "git-mergetool--lib",
    "mergetools",
];

/// A private Git directory. It goes when this is dropped.
#[derive(Debug)]
pub struct Private {
    git: Git,
    place: TempDir,
    /// The working directory, if there is one.
    work: Option<PathBuf>,
    /// Files among the refs that are none.
    pub ignored: usize,
}

/// What of a repository a private directory has.
pub(super) enum Refer {
    /// A copy of the refs, the index and the reflogs: to look.
    All,
    /// A copy of the refs.
    Refs,
    /// The refs themselves, through links: to change one.
    Linked,
}

impl Private {
    /// A private directory to look at `repository` with.
    ///
    /// # Errors
    /// When something of it can't be read, or it is of a kind that is not read here.
    pub fn looking(git: &Git, repository: &Repository) -> Result<Self, HostError> {
        let named = git.names_alternates();
        if let Some(from) = repository.borrowed()?.into_iter().find(|_| !named) {
            return Err(HostError::Borrows { git: repository.git.clone(), from });
        }
        Self::of(git, repository, &Refer::All, &[])
    }

    /// The same, with objects of `also` besides its own.
    pub(super) fn of(
        git: &Git,
        repository: &Repository,
        refer: &Refer,
        also: &[PathBuf],
    ) -> Result<Self, HostError> {
        let refs = Refs::read(repository, &Overlays::default())?;
        let place = tempfile::Builder::new()
            .prefix("git-")
            .tempdir_in(&git.scratch)
            .map_err(HostError::Private)?;
        let work = repository.work.clone();
        let private = Self { git: git.clone(), place, work, ignored: refs.ignored };
        private.build(repository, &refs, refer, also)?;
        Ok(private)
    }

    fn build(
        &self,
        repository: &Repository,
        refs: &Refs,
        refer: &Refer,
        also: &[PathBuf],
    ) -> Result<(), HostError> {
        let own = repository.own(&Overlays::default())?;
        let shared = repository.shared(&Overlays::default())?;
        self.skeleton(refs.are_long()).map_err(HostError::Private)?;
        self.settings(&shared, repository, refs.are_long())?;
        let stores = [repository.common.join("objects")].into_iter().chain(also.iter().cloned());
        self.borrow(stores).map_err(HostError::Private)?;
        let failed = |source| HostError::Read { path: repository.git.clone(), source };
        match refer {
            Refer::Refs => {
                self.copy_refs(refs).map_err(HostError::Private)?;
                self.copy(&shared, "shallow").map_err(failed)?;
            }
            Refer::All => {
                self.copy_refs(refs).map_err(HostError::Private)?;
                self.copy_index(&own).map_err(failed)?;
                self.copy_small(&own, &shared).map_err(failed)?;
            }
            Refer::Linked => self.link_refs(&repository.common).map_err(HostError::Private)?,
        }
        self.stubs()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The directory itself.
    fn git_dir(&self) -> PathBuf {
        self.path("git")
    }

    /// Where new objects go.
    pub(super) fn objects(&self) -> PathBuf {
        self.git_dir().join("objects")
    }

    fn skeleton(&self, long: bool) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(true);
        for name in ["objects/pack", "objects/info", "refs/heads", "refs/tags", "info", "hooks"] {
            builder.create(self.git_dir().join(name))?;
        }
        builder.create(self.path("template"))?;
        let format = if long { SHA256 } else { "[core]\n\trepositoryformatversion = 0\n" };
        fs::write(self.git_dir().join("config"), format)?;
        fs::write(self.git_dir().join("HEAD"), "ref: refs/heads/main\n")
    }

    /// Of the repository's settings those that make git run and trust nothing: it shows remotes
    /// and upstreams by them. A configuration that isn't understood has none.
    fn settings(&self, shared: &Tree, from: &Repository, long: bool) -> Result<(), HostError> {
        let failed = |source| HostError::Read { path: from.common.join("config"), source };
        let text = match shared.read("config", SMALL_MAX) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::FBIG.raw_os_error()) => {
                None
            }
            text => text.map_err(failed)?,
        };
        let carried = text.and_then(|text| policy::git_config::ordinary(&text)).unwrap_or_default();
        let mut config = String::new();
        for (section, key, value) in carried {
            let is_format = section == "extensions" || key == "repositoryformatversion";
            if is_format || key == "bare" {
                continue;
            }
            let section = match section.split_once('.') {
                Some((section, name)) => format!("[{section} \"{name}\"]"),
                None => format!("[{section}]"),
            };
            config.push_str(&format!("{section}\n\t{key} = \"{value}\"\n"));
        }
        let format = if long { SHA256 } else { "[core]\n\trepositoryformatversion = 0\n" };
        let bare = format!("[core]\n\tbare = {}\n", self.work.is_none());
        fs::write(self.git_dir().join("config"), [config.as_str(), format, &bare].concat())
            .map_err(HostError::Private)
    }

    /// Makes other stores of objects readable, without what they say of further ones: only their
    /// packs and the directories of their loose objects.
    fn borrow(&self, stores: impl Iterator<Item = PathBuf>) -> io::Result<()> {
        let mut list = String::new();
        for (number, store) in stores.enumerate() {
            let at = self.path(&format!("store-{number}"));
            fs::create_dir(&at)?;
            for name in Tree::open(&store)?.names()? {
                let Ok(name) = String::from_utf8(name) else { continue };
                let is_fan = name.len() == 2 && name.bytes().all(|b| b.is_ascii_hexdigit());
                let from = store.join(&name);
                if (is_fan || name == "pack") && from.symlink_metadata()?.is_dir() {
                    symlink(from, at.join(name))?;
                }
            }
            list.push_str(&format!("{}\n", at.display()));
        }
        fs::write(self.objects().join("info/alternates"), list)
    }

    fn copy_refs(&self, refs: &Refs) -> io::Result<()> {
        let mut packed = String::from("# pack-refs with: sorted \n");
        for (name, target) in &refs.by_name {
            match target {
                Target::Object(id) if name != "HEAD" => packed.push_str(&format!("{id} {name}\n")),
                Target::Object(id) => fs::write(self.git_dir().join("HEAD"), format!("{id}\n"))?,
                Target::Ref(to) => {
                    let at = self.git_dir().join(name);
                    if let Some(parent) = at.parent() {
                        fs::create_dir_all(parent)?;
                    }
                    fs::write(at, format!("ref: {to}\n"))?;
                }
            }
        }
        fs::write(self.git_dir().join("packed-refs"), packed)
    }

    /// The index with its times: by these git knows which files to look at again.
    fn copy_index(&self, own: &Tree) -> io::Result<()> {
        for name in own.names()? {
            let Ok(name) = String::from_utf8(name) else { continue };
            if name != "index" && !name.starts_with("sharedindex.") {
                continue;
            }
            if let Some(Entry::File(from)) = own.entry(name.as_bytes())? {
                let found = from.metadata()?;
                if found.len() > INDEX_MAX {
                    return Err(rustix::io::Errno::FBIG.into());
                }
                let mut to = File::create_new(self.git_dir().join(&name))?;
                io::copy(&mut &from, &mut to)?;
                to.set_modified(found.modified()?)?;
            }
        }
        Ok(())
    }

    /// What shows how far something is, which commits there are, and what is to be ignored.
    fn copy_small(&self, own: &Tree, shared: &Tree) -> io::Result<()> {
        for name in HALF_DONE {
            self.copy(own, name)?;
        }
        self.copy(shared, "shallow")?;
        self.copy(shared, "info/exclude")?;
        let mut left = LOGS_MAX;
        self.copy_logs(own, "logs/HEAD", &mut left)?;
        self.copy_logs(shared, "logs/refs", &mut left)
    }

    fn copy(&self, from: &Tree, name: &str) -> io::Result<()> {
        match from.read(name, SMALL_MAX)? {
            Some(bytes) => fs::write(self.git_dir().join(name), bytes),
            None => Ok(()),
        }
    }

    fn copy_logs(&self, from: &Tree, path: &str, left: &mut u64) -> io::Result<()> {
        match from.at(path)? {
            Some(Entry::File(file)) if file.metadata()?.len() <= *left => {
                let bytes = read(&file, *left)?;
                *left -= bytes.len() as u64;
                let at = self.git_dir().join(path);
                if let Some(parent) = at.parent() {
                    fs::create_dir_all(parent)?;
                }
                fs::write(at, bytes)
            }
            Some(Entry::Tree(tree)) if path.matches('/').count() < 64 => {
                for name in tree.names()? {
                    if let Ok(name) = String::from_utf8(name) {
                        self.copy_logs(from, &format!("{path}/{name}"), left)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// As git-new-workdir does it: what locks a ref then locks it for everybody.
    fn link_refs(&self, common: &Path) -> io::Result<()> {
        fs::remove_dir_all(self.git_dir().join("refs"))?;
        for name in ["refs", "logs", "packed-refs"] {
            symlink(common.join(name), self.git_dir().join(name))?;
        }
        Ok(())
    }

    /// What this git finds when it starts git: itself, in this directory only.
    fn stubs(&self) -> Result<(), HostError> {
        let real = self.git.exec_path()?;
        let write = || -> io::Result<()> {
            fs::create_dir(self.path("exec"))?;
            for name in STUBS {
                let text = self.stub(name);
                let at = self.path("exec").join(name);
                let mut file = File::create_new(&at)?;
                file.write_all(text.as_bytes())?;
                file.set_permissions(Permissions::from_mode(0o700))?;
            }
            for name in SCRIPTS {
                symlink(real.join(name), self.path("exec").join(name))?;
            }
            Ok(())
        };
        write().map_err(HostError::Private)
    }

    fn stub(&self, name: &str) -> String {
        let goes_on = match name {
            "git" => format!(
                "[ \"$GIT_DIR\" = {} ] && exec {} \"$@\"\n",
                quoted(&self.git_dir()),
                quoted(&self.git.program)
            ),
            _ => String::new(),
        };
        format!(
            "#!/bin/sh\n{goes_on}echo \"loop: git is not started in another repository, because it \
             would obey what lies there; look at it by itself\" >&2\nexit 128\n"
        )
    }

    /// Git in this directory, with the words of `args` to come.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = self.git.command(self.work.as_deref(), &[]);
        command
            .env("GIT_DIR", self.git_dir())
            .env("GIT_EXEC_PATH", self.path("exec"))
            .env("GIT_TEMPLATE_DIR", self.path("template"));
        if let Some(work) = &self.work {
            command.env("GIT_WORK_TREE", work);
        }
        command
    }

    /// What git answers to `args`, with nothing to read and its complaints kept.
    pub(super) fn answer(&self, args: &[&str]) -> io::Result<Output> {
        let mut command = self.command();
        command.args(args).current_dir(self.place.path()).stdin(Stdio::null());
        command.output()
    }
}

const SHA256: &str =
    "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n";

/// A path as the shell reads it back.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

impl Git {
    /// Where this git keeps programs of its own. Asked outside of any repository.
    fn exec_path(&self) -> Result<PathBuf, HostError> {
        let mut command = self.command(None, &[]);
        let output = command
            .arg("--exec-path")
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .map_err(HostError::Start)?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(PathBuf::from(text.trim_end()))
    }
}
