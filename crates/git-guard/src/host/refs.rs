//! Refs, read as data: loose ones, `packed-refs`, and `HEAD`.

use std::collections::BTreeMap;

use names::{ObjectId, RefName};

use super::HostError;
use super::repository::{Overlays, Repository};
use super::tree::{Entry, Tree, read};

/// Longest `packed-refs` that is read, in bytes: some millions of refs.
const PACKED_MAX: u64 = 512 << 20;
/// Most refs.
const REFS_MAX: usize = 4_000_000;
/// Longest loose ref, in bytes.
const LOOSE_MAX: u64 = 4 << 10;
/// Deepest directory of refs.
const DEPTH_MAX: usize = 64;
/// How many symbolic refs may lead to each other: git-symbolic-ref(1).
const SYMBOLIC_MAX: usize = 5;

/// What a ref says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Object(ObjectId),
    /// It stands for another one.
    Ref(String),
}

impl Target {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end();
        match text.strip_prefix("ref:") {
            Some(name) => {
                let name = name.trim_start();
                RefName::parse(name).is_ok().then(|| Self::Ref(name.to_owned()))
            }
            None => ObjectId::parse(text).ok().filter(|id| !id.is_null()).map(Self::Object),
        }
    }
}

/// The refs of a repository.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// By full name; `HEAD` among them.
    pub(super) by_name: BTreeMap<String, Target>,
    /// Files among the refs that are none. Git ignores them too.
    pub(super) ignored: usize,
}

impl Refs {
    /// Reads them as a run saw them, or as they are on the host.
    ///
    /// # Errors
    /// When they can't be read, are too many, or are kept in a way that is not read here.
    pub(super) fn read(repository: &Repository, overlays: &Overlays) -> Result<Self, HostError> {
        let (own, shared) = (repository.own(overlays)?, repository.shared(overlays)?);
        let failed = |source| HostError::Read { path: repository.common.clone(), source };
        if shared.tree("reftable").map_err(failed)?.is_some() {
            return Err(HostError::Reftable(repository.common.clone()));
        }
        let mut refs = Self::default();
        if let Some(packed) = shared.read("packed-refs", PACKED_MAX).map_err(failed)? {
            refs.packed(&packed);
        }
        refs.loose(&shared, 0, "refs", |_| true).map_err(failed)?;
        if repository.git != repository.common {
            refs.by_name.retain(|name, _| !is_own(name));
            refs.loose(&own, 0, "refs", is_own).map_err(failed)?;
        }
        if let Some(head) = own.line("HEAD").map_err(failed)? {
            refs.add("HEAD", &head);
        }
        if refs.by_name.len() > REFS_MAX {
            return Err(HostError::TooMany { what: "refs", most: REFS_MAX });
        }
        Ok(refs)
    }

    fn packed(&mut self, text: &[u8]) {
        let lines = String::from_utf8_lossy(text);
        let lines = lines.lines().filter(|line| !line.starts_with(['#', '^']));
        for line in lines.take(REFS_MAX + 1) {
            match line.split_once(' ') {
                Some((id, name)) => self.add(name, id),
                None => self.ignored += 1,
            }
        }
    }

    fn loose(
        &mut self,
        tree: &Tree,
        depth: usize,
        path: &str,
        wanted: fn(&str) -> bool,
    ) -> std::io::Result<()> {
        let Some(directory) = tree.tree(path)? else { return Ok(()) };
        self.directory(&directory, depth, path, wanted)
    }

    fn directory(
        &mut self,
        tree: &Tree,
        depth: usize,
        path: &str,
        wanted: fn(&str) -> bool,
    ) -> std::io::Result<()> {
        for name in tree.names()? {
            let found = tree.entry(&name)?;
            let Ok(text) = std::str::from_utf8(&name) else {
                self.ignored += 1;
                continue;
            };
            let path = format!("{path}/{text}");
            match found {
                Some(Entry::Tree(below)) if depth < DEPTH_MAX => {
                    self.directory(&below, depth + 1, &path, wanted)?;
                }
                Some(Entry::File(file)) if wanted(&path) && self.by_name.len() <= REFS_MAX => {
                    match read(&file, LOOSE_MAX) {
                        Ok(bytes) => self.add(&path, &String::from_utf8_lossy(&bytes)),
                        Err(_) => self.ignored += 1,
                    }
                }
                Some(Entry::File(_)) | None => {}
                Some(_) => self.ignored += 1,
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, text: &str) {
        let is_name = name == "HEAD" || (name.starts_with("refs/") && RefName::parse(name).is_ok());
        match Target::parse(text).filter(|_| is_name) {
            Some(target) => {
                self.by_name.insert(name.to_owned(), target);
            }
            None => self.ignored += 1,
        }
    }

    /// The object that a ref leads to.
    pub(super) fn resolve(&self, name: &str) -> Option<ObjectId> {
        let mut name = name;
        for _ in 0..SYMBOLIC_MAX {
            match self.by_name.get(name)? {
                Target::Object(id) => return Some(id.clone()),
                Target::Ref(next) => name = next,
            }
        }
        None
    }

    /// What a person means by a word: a full name, a branch, a tag, or an object.
    pub(super) fn named(&self, word: &str) -> Option<ObjectId> {
        let names = [word.to_owned(), format!("refs/heads/{word}"), format!("refs/tags/{word}")];
        names.iter().find_map(|name| self.resolve(name)).or_else(|| ObjectId::parse(word).ok())
    }

    /// Whether its objects are named by SHA-256.
    pub(super) fn are_long(&self) -> bool {
        let ids = self.by_name.values().filter_map(|target| match target {
            Target::Object(id) => Some(id),
            Target::Ref(_) => None,
        });
        ids.take(1).any(|id| id.as_str().len() == 64)
    }
}

/// Refs that each working directory has for itself: gitrepository-layout(5).
fn is_own(name: &str) -> bool {
    ["refs/bisect/", "refs/worktree/", "refs/rewritten/"]
        .iter()
        .any(|start| name.starts_with(start))
}
