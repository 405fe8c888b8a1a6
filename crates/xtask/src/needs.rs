//! What the tests need from a machine: one table, with the reason for each row.

use std::ffi::OsStr;

use anyhow::{Result, bail};

use crate::peers;
use crate::program::{self, SYSTEM_PATH, program};

/// One program that the tests start.
struct Need {
    /// The program looked for, in directories every user can read.
    program: &'static str,
    /// The Debian package that has it.
    package: &'static str,
    /// Which tests start it.
    reason: &'static str,
}

const NEEDS: &[Need] = &[
    Need { program: "git", package: "git", reason: "scratch repositories; work cases W1 and W2" },
    Need {
        program: "bwrap",
        package: "bubblewrap",
        reason: "the other launcher of `loop attack --via`; the peer of the exec benchmark",
    },
    Need {
        program: "python3",
        package: "python3",
        reason: "the second receipt verifier; probes of the corpus; pytest",
    },
    Need {
        program: "pytest-3",
        package: "python3-pytest",
        reason: "a real project under pytest runs inside",
    },
    Need {
        program: "node",
        package: "nodejs",
        reason: "a real project under npm test runs inside",
    },
    Need {
        program: "npm",
        package: "npm",
        reason: "a real project under npm test runs inside; work case W3; the clients of models",
    },
    Need {
        program: "curl",
        package: "curl",
        reason: "a client of the network gate, over HTTP/1.1 and HTTP/2",
    },
    Need {
        program: "pip3",
        package: "python3-pip",
        reason: "a client of the network gate: installs a wheel",
    },
    Need {
        program: "dpkg-deb",
        package: "dpkg",
        reason: "work case W5: an archive for apt, which every Debian has",
    },
    Need { program: "wget", package: "wget", reason: "a client of the network gate, with GnuTLS" },
    Need {
        program: "openssl",
        package: "openssl",
        reason: "a client of the network gate; certificates of the cases' internet",
    },
    Need {
        program: "java",
        package: "default-jdk-headless",
        reason: "a client of opened TLS, with a trust store of its own",
    },
    Need { program: "strace", package: "strace", reason: "work case W8: tracing own children" },
    Need { program: "gdb", package: "gdb", reason: "work case W8: debugging own children" },
    Need { program: "vim", package: "vim", reason: "an editor through the terminal" },
    Need { program: "tmux", package: "tmux", reason: "attack case C1: its socket is out of reach" },
    Need {
        program: "make",
        package: "make",
        reason: "a real project under make runs inside; the build benchmark",
    },
    Need {
        program: "gcc",
        package: "gcc",
        reason: "probes of the corpus in C; the build benchmark",
    },
    Need { program: "g++", package: "g++", reason: "libFuzzer is C++" },
    Need {
        program: "ps",
        package: "procps",
        reason: "work case W8; looking for processes left behind",
    },
    Need {
        program: "ip",
        package: "iproute2",
        reason: "what the network looks like from inside; the cases' internet",
    },
    Need {
        program: "setpriv",
        package: "util-linux",
        reason: "the same tests as an ordinary user",
    },
    Need {
        program: "mount",
        package: "mount",
        reason: "a full disk; the ordinary user's view of this checkout",
    },
];

/// `cargo xtask needs`: the table, and what is missing.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`needs` takes no {unknown:?}");
    }
    for need in NEEDS {
        let state = if is_present(need) { "present" } else { "MISSING" };
        println!("{state}  {:<9} {:<15} {}", need.program, need.package, need.reason);
    }
    peers::show();
    Ok(())
}

/// Sees to it that everything is there: installs it as root, names it otherwise.
pub(crate) fn ensure() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    if !program::is_root() {
        for need in &missing {
            eprintln!("missing: {} ({}): {}", need.program, need.package, need.reason);
        }
        bail!(
            "install what is missing, then try again: sudo apt-get install {}",
            packages.join(" ")
        );
    }
    install(&packages)?;
    match self::missing().first() {
        None => Ok(()),
        Some(need) => bail!(
            "the package {} was installed, but there is no program {}",
            need.package,
            need.program
        ),
    }
}

fn install(packages: &[&str]) -> Result<()> {
    if program::find("apt-get", OsStr::new(SYSTEM_PATH)).is_none() {
        bail!("no apt-get on this machine; install by hand: {}", packages.join(" "));
    }
    println!("installing {}", packages.join(" "));
    program::run(program("apt-get").args(["-qq", "update"]))?;
    program::run(
        program("apt-get")
            .args(["-qq", "install", "--yes", "--no-install-recommends"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}

fn missing() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !is_present(need)).collect()
}

fn is_present(need: &Need) -> bool {
    program::find(need.program, OsStr::new(SYSTEM_PATH)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_need_says_why() {
        assert!(NEEDS.iter().all(|need| need.reason.len() > 10));
    }

    #[test]
    fn no_program_is_listed_twice() {
        let mut programs: Vec<_> = NEEDS.iter().map(|need| need.program).collect();
        programs.sort_unstable();
        programs.dedup();
        assert_eq!(programs.len(), NEEDS.len());
    }
}
