//! Which Git directory belongs to a working directory, and what is in it. Everything is read as
//! data; no program runs, and nothing read here is obeyed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::HostError;
use super::refs::Refs;
use super::tree::{Entry, Tree};

/// Longest `objects/info/alternates` that is read, in bytes.
const ALTERNATES_MAX: u64 = 1 << 20;

/// A repository by its directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Where the files are that are checked out; none in a bare repository.
    pub(super) work: Option<PathBuf>,
    /// What belongs to this working directory: `HEAD`, the index.
    pub(super) git: PathBuf,
    /// What it shares with others: objects and refs.
    pub(super) common: PathBuf,
}

/// Where a run's writes to directories of the host are: each directory, and what lies over it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overlays(pub Vec<(PathBuf, PathBuf)>);

impl Repository {
    /// The repository that `directory` is in: of the nearest directory, itself or above, with a
    /// `.git`; or a bare one that `directory` is itself.
    ///
    /// # Errors
    /// When there is none, or its `.git` is a link or a file that names a directory which does not
    /// name it back.
    pub fn find(directory: &Path) -> Result<Self, HostError> {
        let directory = fs::canonicalize(directory)
            .map_err(|source| HostError::Read { path: directory.to_owned(), source })?;
        let marked = |path: &&Path| path.join(".git").symlink_metadata().is_ok();
        let root = directory.ancestors().find(marked);
        match root {
            _ if is_git_directory(&directory) => {
                Ok(Self { work: None, git: directory.clone(), common: directory })
            }
            Some(root) => Self::of(root).ok_or_else(|| HostError::Pointer(root.join(".git"))),
            None => Err(HostError::NotARepository(directory)),
        }
    }

    /// The repository of the working directory `root`.
    #[must_use]
    pub fn of(root: &Path) -> Option<Self> {
        let dot_git = root.join(".git");
        if dot_git.symlink_metadata().ok()?.is_dir() {
            let work = Some(root.to_owned());
            return Some(Self { work, git: dot_git.clone(), common: dot_git });
        }
        let pointer = Tree::open(root).ok()?.line(".git").ok()??;
        let git = fs::canonicalize(root.join(pointer.strip_prefix("gitdir: ")?)).ok()?;
        let common = match line(&git, "commondir") {
            Some(common) => fs::canonicalize(git.join(common)).ok()?,
            None => git.clone(),
        };
        let repository = Self { work: Some(root.to_owned()), git, common };
        repository.belongs_to(root).then_some(repository)
    }

    /// A pointer file could name any directory, so what it names has to agree: a linked work tree
    /// is registered in its repository, and a submodule's directory lies in its superproject's.
    fn belongs_to(&self, root: &Path) -> bool {
        if !self.common.join("objects").is_dir() || !self.git.join("HEAD").is_file() {
            return false;
        }
        let registered = line(&self.git, "gitdir")
            .and_then(|back| fs::canonicalize(self.git.join(back)).ok())
            .is_some_and(|back| back == root.join(".git"));
        let is_submodule = root
            .ancestors()
            .skip(1)
            .any(|superproject| self.git.starts_with(superproject.join(".git/modules")));
        (registered && self.git.starts_with(&self.common)) || is_submodule
    }

    /// Its directories that do not lie below `root`.
    #[must_use]
    pub fn outside(&self, root: &Path) -> Vec<PathBuf> {
        let both = [&self.common, &self.git];
        let outside = both.into_iter().filter(|path| !path.starts_with(root));
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in outside {
            if !paths.iter().any(|earlier| path.starts_with(earlier)) {
                paths.push(path.clone());
            }
        }
        paths
    }

    /// Where its objects are.
    #[must_use]
    pub fn objects(&self) -> PathBuf {
        self.common.join("objects")
    }

    /// The commit that is checked out.
    #[must_use]
    pub fn head_commit(&self) -> Option<String> {
        Refs::read(self, &Overlays::default()).ok()?.resolve("HEAD").map(|id| id.to_string())
    }

    /// The branch that is checked out, without `refs/heads/`.
    #[must_use]
    pub fn head_branch(&self) -> Option<String> {
        let head = line(&self.git, "HEAD")?;
        head.strip_prefix("ref: refs/heads/").map(str::to_owned)
    }

    /// What belongs to the working directory, as a run saw it.
    pub(super) fn own(&self, overlays: &Overlays) -> Result<Tree, HostError> {
        overlays.tree(&self.git)
    }

    /// What is shared, as a run saw it.
    pub(super) fn shared(&self, overlays: &Overlays) -> Result<Tree, HostError> {
        overlays.tree(&self.common)
    }

    /// Where other objects are that the repository borrows, and what it says of them is a path, and
    /// so is what they say: gitrepository-layout(5).
    pub(super) fn borrowed(&self) -> Result<Vec<PathBuf>, HostError> {
        /// As many steps as Git follows.
        const DEPTH: usize = 5;
        let mut found: Vec<PathBuf> = Vec::new();
        let mut pending = vec![(self.common.join("objects"), 0)];
        while let Some((store, depth)) = pending.pop() {
            let failed = |source| HostError::Read { path: store.clone(), source };
            let text = Tree::open(&store)
                .and_then(|tree| tree.read("info/alternates", ALTERNATES_MAX))
                .map_err(failed)?;
            let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            for path in lines.filter_map(|line| fs::canonicalize(store.join(line)).ok()) {
                if path.is_dir() && depth < DEPTH && !found.contains(&path) {
                    found.push(path.clone());
                    pending.push((path, depth + 1));
                }
            }
        }
        Ok(found)
    }

    /// The branches that are checked out, here or in another working directory.
    pub(super) fn checked_out(&self) -> Result<Vec<String>, HostError> {
        let failed = |source| HostError::Read { path: self.common.clone(), source };
        let shared = Tree::open(&self.common).map_err(failed)?;
        let mut heads = vec![shared.line("HEAD").map_err(failed)?];
        if let Some(linked) = shared.tree("worktrees").map_err(failed)? {
            for name in linked.names().map_err(failed)? {
                if let Some(Entry::Tree(tree)) = linked.entry(&name).map_err(failed)? {
                    heads.push(tree.line("HEAD").map_err(failed)?);
                }
            }
        }
        let branch = |head: String| head.strip_prefix("ref: ").map(str::to_owned);
        Ok(heads.into_iter().flatten().filter_map(branch).collect())
    }
}

impl Overlays {
    /// A directory of the host, with what lies over it or over what holds it.
    fn tree(&self, path: &Path) -> Result<Tree, HostError> {
        let base = open(path)?;
        let over = self.0.iter().find(|(directory, _)| path.starts_with(directory));
        let Some((directory, upper)) = over else { return Ok(base) };
        let below = path.strip_prefix(directory).unwrap_or(Path::new(""));
        // The names on the way are looked up as an overlay would: one may hide the base.
        let mut tree = open(upper)?.over(open(directory)?);
        for name in below.iter() {
            let failed = |source| HostError::Read { path: path.to_owned(), source };
            tree = match tree.entry(name.as_encoded_bytes()).map_err(failed)? {
                Some(Entry::Tree(tree)) => tree,
                _ => return Err(failed(io::ErrorKind::NotADirectory.into())),
            };
        }
        Ok(tree)
    }

    /// Where what a run wrote below a directory of the host lies.
    pub(super) fn written_path(&self, path: &Path) -> Option<PathBuf> {
        let (directory, upper) =
            self.0.iter().find(|(directory, _)| path.starts_with(directory))?;
        Some(upper.join(path.strip_prefix(directory).ok()?))
    }

    /// What a run itself wrote below a directory of the host, without what was there; none if it
    /// wrote nothing.
    pub(super) fn written(&self, path: &Path) -> Result<Option<Tree>, HostError> {
        let over = self.0.iter().find(|(directory, _)| path.starts_with(directory));
        let Some((directory, upper)) = over else { return Ok(None) };
        let mut tree = Some(open(upper)?);
        for name in path.strip_prefix(directory).unwrap_or(Path::new("")).iter() {
            let failed = |source| HostError::Read { path: path.to_owned(), source };
            let entry = match &tree {
                Some(tree) => tree.entry(name.as_encoded_bytes()).map_err(failed)?,
                None => None,
            };
            tree = match entry {
                Some(Entry::Tree(tree)) => Some(tree),
                _ => None,
            };
        }
        Ok(tree)
    }
}

fn open(path: &Path) -> Result<Tree, HostError> {
    Tree::open(path).map_err(|source| HostError::Read { path: path.to_owned(), source })
}

/// The first line of a small file, without following a link.
fn line(directory: &Path, name: &str) -> Option<String> {
    Tree::open(directory).ok()?.line(name).ok()?
}

/// As Git tells one: gitrepository-layout(5).
fn is_git_directory(path: &Path) -> bool {
    let directory = |name: &str| path.join(name).symlink_metadata().is_ok_and(|it| it.is_dir());
    directory("objects") && directory("refs") && line(path, "HEAD").is_some()
}
