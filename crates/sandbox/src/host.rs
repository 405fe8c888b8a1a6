//! What the host looks like, as far as a plan depends on it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::toolchains::{self, Shown};

/// Directories of the root that hold the operating system.
const SYSTEM: [&str; 9] =
    ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt", "/nix"];

/// Files of `/etc` that programs need. A list of what is shown, not of what is hidden: everything
/// else there is somebody's secret or nobody's business.
const COPIED: &[&str] = &[
    "bash.bashrc",
    "debian_version",
    "gai.conf",
    "host.conf",
    "inputrc",
    "ld.so.cache",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "mime.types",
    "nix/nix.conf",
    "os-release",
    "profile",
    "protocols",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/openssl.cnf",
    "timezone",
];

/// Directories of `/etc` that programs need.
const SHOWN: &[&str] = &[
    "alternatives",
    "ca-certificates",
    "fonts",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "profile.d",
    "python3",
    "ssl/certs",
    "terminfo",
    "vim",
];

/// Parts of `/sys` from which runtimes read the number of processors and the like.
const MACHINE: [&str; 3] =
    ["/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage"];

/// The host, observed once before planning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Effective user id of the control plane.
    pub uid: u32,
    /// Effective group id.
    pub gid: u32,
    /// The person's home directory, resolved.
    pub home: PathBuf,
    /// System directories that are directories.
    pub system: Vec<PathBuf>,
    /// System directories that are links, and where to.
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// Directories of `/etc` and `/sys` that are shown.
    pub shown: Vec<PathBuf>,
    /// Files of `/etc` that are copied.
    pub copied: Vec<PathBuf>,
    /// Toolchains and caches in the home.
    pub toolchains: Vec<Shown>,
}

impl Host {
    /// Looks at the host. `variable` answers for the control plane's environment.
    ///
    /// # Errors
    /// When the home directory does not resolve.
    pub fn observe(home: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> io::Result<Self> {
        let home = fs::canonicalize(home)?;
        let mut system = Vec::new();
        let mut links = BTreeMap::new();
        for path in SYSTEM.map(PathBuf::from) {
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    links.insert(path.clone(), fs::read_link(&path)?);
                }
                Ok(found) if found.is_dir() => system.push(path),
                _ => {}
            }
        }
        let etc = |names: &'static [&str]| names.iter().map(|name| Path::new("/etc").join(name));
        let shown = etc(SHOWN).chain(MACHINE.map(PathBuf::from)).filter(|path| path.is_dir());
        let copied = etc(COPIED).filter(|path| path.is_file());
        let toolchains = toolchains::find(&home, |name| variable(name).map(PathBuf::from));
        Ok(Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            home,
            system,
            links,
            shown: shown.collect(),
            copied: copied.collect(),
            toolchains,
        })
    }
}
