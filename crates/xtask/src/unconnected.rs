//! Programs without a network: each in a network namespace of its own, in which there is loopback
//! and nothing else.

use std::path::Path;
use std::process::Command;

use crate::program::{self, program};

/// Brings loopback up, gives back the privilege that this took, and becomes the program.
const ALONE: &str = "ip link set lo up && exec \"$@\"";
const WITHOUT_PRIVILEGE: &[&str] = &["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--"];

/// A command of the present user.
pub(crate) fn command(path: &Path) -> Command {
    let mut command = program("unshare");
    let is_root = program::is_root();
    if !is_root {
        command.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    command.args(["--net", "--", "sh", "-c", ALONE, "sh"]);
    if !is_root {
        command.args(WITHOUT_PRIVILEGE);
    }
    command.arg(path);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_loopback_and_nothing_else() {
        let listing = program::read(command(Path::new("ip")).args(["-brief", "address"])).unwrap();
        let listing = String::from_utf8_lossy(&listing);
        let devices: Vec<_> = listing.lines().map(|line| line.split(' ').next()).collect();
        assert_eq!(devices, [Some("lo")], "{listing}");
        assert!(listing.contains("127.0.0.1/8"), "{listing}");
        let routes = program::read(command(Path::new("ip")).arg("route")).unwrap();
        assert_eq!(String::from_utf8_lossy(&routes), "");
    }

    #[test]
    fn it_is_the_same_user_without_more_privilege() {
        let status = program::read(command(Path::new("cat")).arg("/proc/self/status")).unwrap();
        let own = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = |text: &str, name: &str| {
            text.lines().find(|line| line.starts_with(name)).map(str::to_owned)
        };
        let status = String::from_utf8_lossy(&status);
        for name in ["Uid:", "CapEff:", "CapAmb:"] {
            assert_eq!(line(&status, name), line(&own, name));
        }
    }
}
