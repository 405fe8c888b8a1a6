//! From an authority to a plan: pure, so that a plan can be printed, compared and tested without
//! a kernel.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use confine::plan::{BindAccess, Filter, Identity, Mediate, Network, Plan, Rights, Step, Watch};
use policy::{Access, Authority, Kind, Match, Mode, Outcome};
use thiserror::Error;

use crate::host::Host;
use crate::layout::Layout;
use crate::toolchains::Shown;

/// The user id inside when the owner is root.
const UNPRIVILEGED: u32 = 1000;
/// The user's name inside when the owner is root.
const UNPRIVILEGED_NAME: &str = "loop";
/// Bytes of shared memory where the profile limits none.
const SHARED_MEMORY: u64 = 2 << 30;
/// Bytes of memory that the private home may take.
const HOME_MEMORY: u64 = 4 << 30;
/// Directories that no project and no mount may be.
const KERNEL_DIRECTORIES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Whom and what a sandbox is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The person's name.
    pub user: &'a str,
    /// The project's directory, resolved.
    pub project: &'a Path,
    /// Git directories outside the project that belong to it: of a linked worktree or a submodule.
    pub git: &'a [PathBuf],
    /// Text of a Git configuration with the person's name and e-mail.
    pub git_config: &'a str,
    /// Files that the home begins with, by their paths below it, and their text.
    pub home_files: &'a [(PathBuf, String)],
    /// Loop's own directories, which no sandbox sees.
    pub secret: &'a [PathBuf],
    /// Files with a credential of the person's, which come along with no directory.
    pub logins: &'a [PathBuf],
    /// Limits that a control group holds, so that init need not watch them.
    pub grouped: bool,
    /// What is listened to inside, if anything outside can be reached.
    pub network: Option<Network>,
    /// Files of the host that are shown in the place of others, from and at.
    pub shown_as: Vec<(PathBuf, PathBuf)>,
}

/// Why an authority can't become a plan.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// A path that would show Loop's own directories.
    #[error("{what} {} would expose Loop's own directory {}", path.display(), secret.display())]
    ExposesLoop {
        /// The project or the mount.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// What it would expose.
        secret: PathBuf,
    },
    /// A path that belongs to the kernel.
    #[error("{what} {} is a directory of the kernel", path.display())]
    KernelDirectory {
        /// The project or the mount.
        what: &'static str,
        /// Its path.
        path: PathBuf,
    },
    /// A project that holds the person's home.
    #[error("the project {} holds your home directory", .0.display())]
    HoldsHome(PathBuf),
    /// A directory that no overlay can be made of, because something is mounted in it.
    #[error("{what} {} holds a mount, {}, and so can't be shown as it is", path.display(), mount.display())]
    HoldsMount {
        /// The project, the mount or the Git directory.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// What is mounted below it.
        mount: PathBuf,
    },
    /// A path that is not text.
    #[error("{what} {} is not valid UTF-8", path.display())]
    NotText {
        /// The project or the mount.
        what: &'static str,
        /// Its path.
        path: PathBuf,
    },
}

/// Computes the sandbox of `authority` on `host`.
///
/// # Errors
/// When a path may not be shown, or the authority asks for what this executor does not do.
pub fn plan(
    authority: &Authority,
    host: &Host,
    layout: &Layout,
    subject: &Subject<'_>,
) -> Result<Plan, PlanError> {
    check_paths(authority, host, subject)?;
    let mut view = View::default();
    view.system(host);
    view.person(host, layout, subject);
    view.caches(authority, host, layout);
    view.git(layout, subject);
    view.mounts(authority);
    view.workspace(authority.mode, layout, subject);
    view.hide(subject.secret);
    view.hide(&brought_along(authority, subject));
    view.show_as(&subject.shown_as);
    let trees = mediated_trees(authority, subject.project, &view.writable);
    Ok(Plan {
        identity: identity(host),
        hostname: "loop".to_owned(),
        rights: Rights { write: view.writable },
        steps: view.steps,
        filter: Filter { user_namespaces: authority.grants.user_namespaces },
        mediate: mediate(authority, trees),
        network: subject.network.clone(),
        published: published(authority),
        watch: watch(authority, host, subject.grouped),
    })
}

/// The credentials that the project or a mount would bring along.
fn brought_along(authority: &Authority, subject: &Subject<'_>) -> Vec<PathBuf> {
    let mounts = authority.mounts.iter().map(|mount| mount.path.as_path());
    let shown: Vec<&Path> = mounts.chain([subject.project]).collect();
    let is_shown = |file: &&PathBuf| shown.iter().any(|directory| file.starts_with(directory));
    subject.logins.iter().filter(is_shown).cloned().collect()
}

/// Each port of the sandbox once, at however many ports of the host.
fn published(authority: &Authority) -> Vec<u16> {
    let ports = authority.publish.iter().map(|publication| publication.port.number());
    ports.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

fn holds_mount(host: &Host, shown: &Shown) -> bool {
    host.mount_below(&shown.path).is_some()
}

/// The caches that a plan overlays, in the order of their numbers in the [`Layout`].
pub(crate) fn scratch_directories<'a>(authority: &'a Authority, host: &'a Host) -> Vec<&'a Path> {
    let toolchains = host.toolchains.iter().filter(|_| authority.grants.toolchains);
    let toolchains = toolchains.filter(|shown| shown.scratch && !holds_mount(host, shown));
    let mounts = authority.mounts.iter().filter(|mount| mount.access == Access::Scratch);
    let overlaid = toolchains
        .map(|shown| shown.path.as_path())
        .chain(mounts.map(|mount| mount.path.as_path()));
    overlaid.collect()
}

impl Layout {
    /// Makes the directories that `plan` will use.
    ///
    /// # Errors
    /// When a directory can't be made.
    pub fn prepare(
        &self,
        authority: &Authority,
        host: &Host,
        subject: &Subject<'_>,
    ) -> std::io::Result<()> {
        let caches = scratch_directories(authority, host).len();
        self.create(subject.project, caches, subject.git.len())
    }
}

/// Only what a rule is about.
fn mediate(authority: &Authority, trees: Vec<PathBuf>) -> Mediate {
    let exec = authority.rules.iter().filter(|rule| rule.when.kind() == Kind::Exec);
    let default = authority.defaults.get(&Kind::Exec).map(|default| default.verdict);
    let says = exec.map(|rule| Some(rule.verdict)).chain([default]);
    Mediate { exec: says.into_iter().any(|says| says != Some(Outcome::Allow)), trees }
}

/// The trees in which somebody is asked before a file is written: in direct mode the project; and
/// every tree that may be changed where a rule could be about a file in it.
fn mediated_trees(authority: &Authority, project: &Path, writable: &[PathBuf]) -> Vec<PathBuf> {
    let rules = authority.rules.iter().filter(|rule| rule.verdict != Outcome::Allow);
    let patterns: Vec<_> = rules
        .filter_map(|rule| match &rule.when {
            Match::Open { path, .. } => Some(path),
            _ => None,
        })
        .collect();
    let is_about =
        |tree: &Path| patterns.iter().any(|path| path.may_match_below(tree.as_os_str().as_bytes()));
    let kernel = |tree: &Path| KERNEL_DIRECTORIES.iter().any(|dir| tree.starts_with(dir));
    let by_rule = writable.iter().filter(|tree| !kernel(tree) && is_about(tree)).cloned();
    let direct = (authority.mode == Mode::Direct).then(|| project.to_owned());
    let mut trees: Vec<_> = by_rule.chain(direct).collect();
    trees.sort();
    trees.dedup();
    trees
}

fn identity(host: &Host) -> Identity {
    Identity {
        outside_uid: host.uid,
        outside_gid: host.gid,
        inside_uid: id_inside(host.uid),
        inside_gid: id_inside(host.gid),
    }
}

/// The number that a user or group has inside: its own, unless that is root's.
#[must_use]
pub const fn id_inside(id: u32) -> u32 {
    if id == 0 { UNPRIVILEGED } else { id }
}

/// The name of the user inside.
#[must_use]
pub fn user_inside(is_root: bool, user: &str) -> &str {
    if is_root { UNPRIVILEGED_NAME } else { user }
}

fn watch(authority: &Authority, host: &Host, grouped: bool) -> Watch {
    if grouped {
        return Watch::default();
    }
    Watch {
        memory: authority.limits.memory.map(|size| size.0),
        memory_mounts: vec!["/dev/shm".into(), host.home.clone()],
        processes: authority.limits.processes,
    }
}

fn check_paths(authority: &Authority, host: &Host, subject: &Subject<'_>) -> Result<(), PlanError> {
    check_path("the project", subject.project)?;
    if host.home.starts_with(subject.project) {
        return Err(PlanError::HoldsHome(subject.project.to_owned()));
    }
    check_secret("the project", subject.project, subject.secret)?;
    check_mounts(authority, host, subject)?;
    for mount in &authority.mounts {
        check_path("the mount", &mount.path)?;
        if mount.access != Access::Read {
            check_secret("the mount", &mount.path, subject.secret)?;
        }
    }
    Ok(())
}

/// Whatever becomes an overlay must hold no mount; what is written through is bound as it is.
fn check_mounts(
    authority: &Authority,
    host: &Host,
    subject: &Subject<'_>,
) -> Result<(), PlanError> {
    let project = (authority.mode != Mode::Direct).then_some(("the project", subject.project));
    let mounts = authority.mounts.iter().filter(|mount| mount.access != Access::Write);
    let mounts = mounts.map(|mount| ("the mount", mount.path.as_path()));
    let git = subject.git.iter().map(|path| ("the Git directory", path.as_path()));
    for (what, path) in project.into_iter().chain(mounts).chain(git) {
        if let Some(mount) = host.mount_below(path) {
            let (path, mount) = (path.to_owned(), mount.to_owned());
            return Err(PlanError::HoldsMount { what, path, mount });
        }
    }
    Ok(())
}

fn check_path(what: &'static str, path: &Path) -> Result<(), PlanError> {
    if path.to_str().is_none() {
        return Err(PlanError::NotText { what, path: path.to_owned() });
    }
    if KERNEL_DIRECTORIES.iter().any(|directory| path.starts_with(directory)) {
        return Err(PlanError::KernelDirectory { what, path: path.to_owned() });
    }
    Ok(())
}

fn check_secret(what: &'static str, path: &Path, secrets: &[PathBuf]) -> Result<(), PlanError> {
    match secrets.iter().find(|secret| secret.starts_with(path) || path.starts_with(secret)) {
        Some(secret) => {
            Err(PlanError::ExposesLoop { what, path: path.to_owned(), secret: secret.clone() })
        }
        None => Ok(()),
    }
}

/// The steps so far, and the trees that may be changed.
#[derive(Default)]
struct View {
    steps: Vec<Step>,
    writable: Vec<PathBuf>,
    overlaid: usize,
}

impl View {
    fn system(&mut self, host: &Host) {
        for (at, to) in &host.links {
            self.steps.push(Step::Link { at: at.clone(), to: to.clone() });
        }
        host.system.iter().chain(&host.shown).for_each(|path| self.read(path));
        let copies = host.copied.iter().map(|at| Step::Copy { from: at.clone(), at: at.clone() });
        self.steps.extend(copies);
        self.steps.push(Step::Devices { shared_memory: SHARED_MEMORY });
        self.steps.push(Step::Processes { cover_machine: host.uid == 0 });
        for (at, to) in [("/var/run", "/run"), ("/etc/mtab", "/proc/self/mounts")] {
            self.steps.push(Step::Link { at: at.into(), to: to.into() });
        }
        self.steps.push(Step::Directory { at: "/run".into(), mode: 0o755 });
        self.writable.extend(["/dev", "/proc"].map(PathBuf::from));
    }

    fn person(&mut self, host: &Host, layout: &Layout, subject: &Subject<'_>) {
        let Identity { inside_uid, inside_gid, .. } = identity(host);
        let user = user_inside(host.uid == 0, subject.user);
        let home = host.home.display();
        self.text(
            "/etc/passwd",
            format!(
                "root:x:0:0:root:/root:/usr/sbin/nologin\n\
             {user}:x:{inside_uid}:{inside_gid}::{home}:/bin/bash\n\
             nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
            ),
        );
        self.text("/etc/group", format!("root:x:0:\n{user}:x:{inside_gid}:\nnogroup:x:65534:\n"));
        self.text("/etc/hosts", "127.0.0.1 localhost loop\n::1 localhost loop\n".to_owned());
        self.text("/etc/hostname", "loop\n".to_owned());
        self.text(
            "/etc/nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files dns\n".to_owned(),
        );
        self.text("/etc/resolv.conf", "nameserver 127.0.0.53\n".to_owned());
        // Not a link: a home or a project may lie below either.
        ["/tmp", "/var/tmp"].iter().for_each(|at| self.write(&layout.temporary(), Path::new(at)));
        self.steps.push(Step::Memory { at: host.home.clone(), mode: 0o700, size: HOME_MEMORY });
        self.writable.push(host.home.clone());
        self.text(host.home.join(".gitconfig"), subject.git_config.to_owned());
        for (path, text) in subject.home_files {
            self.text(host.home.join(path), text.clone());
        }
    }

    fn caches(&mut self, authority: &Authority, host: &Host, layout: &Layout) {
        if authority.grants.toolchains {
            host.toolchains.iter().for_each(|shown| self.toolchain(shown, host, layout));
        }
        for mount in authority.mounts.iter().filter(|mount| mount.access == Access::Scratch) {
            self.scratch(&mount.path, layout);
        }
    }

    /// What the run commits outlives it, in any mode: `loop branch` takes it from there.
    fn git(&mut self, layout: &Layout, subject: &Subject<'_>) {
        for (number, directory) in subject.git.iter().enumerate() {
            self.overlay(directory, layout.git_upper(number), layout.git_work(number));
        }
    }

    /// One that holds a mount can only be shown as it is, and not be written to.
    fn toolchain(&mut self, shown: &Shown, host: &Host, layout: &Layout) {
        match (holds_mount(host, shown), shown.scratch) {
            (true, _) => self.read(&shown.path),
            (false, true) => self.scratch(&shown.path, layout),
            (false, false) => self.show(&shown.path),
        }
        self.hide(&shown.hidden);
    }

    fn mounts(&mut self, authority: &Authority) {
        for mount in &authority.mounts {
            match mount.access {
                Access::Read => self.show(&mount.path),
                Access::Write => self.write(&mount.path, &mount.path),
                Access::Scratch => {}
            }
        }
    }

    fn workspace(&mut self, mode: Mode, layout: &Layout, subject: &Subject<'_>) {
        match mode {
            Mode::Overlay => self.overlay(subject.project, layout.upper(), layout.work()),
            Mode::ReadOnly => self.show(subject.project),
            Mode::Direct => self.write(subject.project, subject.project),
        }
    }

    /// The last word about these paths.
    fn show_as(&mut self, files: &[(PathBuf, PathBuf)]) {
        self.steps.extend(files.iter().map(|(from, at)| Step::Bind {
            from: from.clone(),
            at: at.clone(),
            access: BindAccess::Read,
        }));
    }

    fn hide(&mut self, paths: &[PathBuf]) {
        self.steps.extend(paths.iter().map(|at| Step::Cover { at: at.clone() }));
    }

    fn text(&mut self, at: impl Into<PathBuf>, text: String) {
        self.steps.push(Step::File { at: at.into(), text, mode: 0o644 });
    }

    fn read(&mut self, path: &Path) {
        self.steps.push(Step::Bind {
            from: path.to_owned(),
            at: path.to_owned(),
            access: BindAccess::Read,
        });
    }

    fn show(&mut self, path: &Path) {
        self.steps.push(Step::Show { from: path.to_owned(), at: path.to_owned() });
    }

    fn write(&mut self, from: &Path, at: &Path) {
        self.steps.push(Step::Bind {
            from: from.to_owned(),
            at: at.to_owned(),
            access: BindAccess::Write,
        });
        self.writable.push(at.to_owned());
    }

    fn scratch(&mut self, path: &Path, layout: &Layout) {
        let number = self.overlaid;
        self.overlaid += 1;
        self.overlay(path, layout.cache_upper(number), layout.cache_work(number));
    }

    fn overlay(&mut self, path: &Path, upper: PathBuf, work: PathBuf) {
        self.steps.push(Step::Overlay { lower: path.to_owned(), upper, work, at: path.to_owned() });
        self.writable.push(path.to_owned());
    }
}
