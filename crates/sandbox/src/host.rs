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

/// What of `/etc` programs need. A list of what is shown, not of what is hidden: everything else
/// there is somebody's secret or nobody's business.
const CONFIGURATION: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "bash_completion.d",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "default/locale",
    "dpkg/origins",
    "fonts",
    "gai.conf",
    "host.conf",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "manpath.config",
    "mime.types",
    "nanorc",
    "nix/nix.conf",
    "os-release",
    "paperspecs",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "rpc",
    "services",
    "shells",
    "skel",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "vim",
    "xdg",
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
    /// Files and directories of `/etc` and `/sys` that are shown.
    pub configuration: Vec<PathBuf>,
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
        let etc = CONFIGURATION.iter().map(|name| Path::new("/etc").join(name));
        let configuration =
            etc.chain(MACHINE.map(PathBuf::from)).filter(|path| path.exists()).collect();
        let toolchains = toolchains::find(&home, |name| variable(name).map(PathBuf::from));
        Ok(Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            home,
            system,
            links,
            configuration,
            toolchains,
        })
    }
}
