//! What the host looks like, as far as a plan depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
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
    /// Where something is mounted.
    pub mounted: Vec<PathBuf>,
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
            mounted: mount_points(&fs::read("/proc/self/mountinfo")?),
        })
    }

    /// A mount strictly below `path`, if there is one. The kernel overlays no directory that holds
    /// one for a user namespace, because it would uncover what the mount covers: the locked mounts
    /// of mount_namespaces(7).
    #[must_use]
    pub fn mount_below(&self, path: &Path) -> Option<&Path> {
        let below = |mount: &&PathBuf| mount.starts_with(path) && mount.as_path() != path;
        self.mounted.iter().find(below).map(PathBuf::as_path)
    }
}

/// The mount points of proc_pid_mountinfo(5), each once.
fn mount_points(table: &[u8]) -> Vec<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    let field = |line: &[u8]| line.split(|byte| *byte == b' ').nth(4).map(unescaped);
    let points: BTreeSet<PathBuf> =
        lines.filter_map(field).map(|path| OsString::from_vec(path).into()).collect();
    points.into_iter().collect()
}

/// Space, tab, line feed and backslash are written as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|_| *first == b'\\').and_then(|digits| {
            let digits = str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        bytes.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { tail.get(3..).unwrap_or_default() } else { tail };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_as_the_kernel_writes_them() {
        let table = b"22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/sda rw\n\
            36 22 0:31 /x /home/a\\040b/c\\134d rw - tmpfs tmpfs rw\n\
            37 22 0:31 /y /home/a\\040b/c\\134d rw - tmpfs tmpfs rw\nshort line\n";
        assert_eq!(mount_points(table), ["/", "/home/a b/c\\d"].map(PathBuf::from));
        assert_eq!(unescaped(b"a\\04"), b"a\\04");
        assert_eq!(unescaped(b"a\\999"), b"a\\999");
        assert!(mount_points(b"").is_empty());
    }

    #[test]
    fn a_mount_below_is_not_the_directory_itself_nor_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let mut host = Host::observe(home.path(), &|_| None).unwrap();
        assert!(host.mounted.contains(&PathBuf::from("/")));
        host.mounted = ["/", "/a/b", "/a/bc/d"].map(PathBuf::from).to_vec();
        assert_eq!(host.mount_below(Path::new("/a")), Some(Path::new("/a/b")));
        assert_eq!(host.mount_below(Path::new("/a/bc")), Some(Path::new("/a/bc/d")));
        assert_eq!(host.mount_below(Path::new("/a/b")), None);
    }
}
