//! The built-in profiles load, hold their own self-tests, and say what they should.

use policy::{Gate, Mode, Outcome};

use crate::support::{authority, outcome, request, resolved};

#[test]
fn they_load_and_their_self_tests_hold() {
    for name in policy::built_in_names() {
        let resolved = resolved(request(name));
        assert_eq!(resolved.authority.profile, name);
        assert!(resolved.ignored.is_empty());
        let checked = policy::check_expectations(request(name)).unwrap();
        assert!(checked.len() > 1, "{name} tests itself");
        assert!(checked.iter().all(policy::Checked::holds));
    }
}

#[test]
fn limits_are_those_of_the_design() {
    for name in policy::built_in_names() {
        let limits = authority(request(name)).limits;
        let shown = |limit: Option<names::ByteSize>| limit.map(|limit| limit.to_string());
        assert_eq!(shown(limits.memory).as_deref(), Some("8GiB"));
        assert_eq!(limits.processes, Some(4096));
        assert_eq!(shown(limits.disk).as_deref(), Some("20GiB"));
        assert_eq!(shown(limits.output).as_deref(), Some("1GiB"));
        assert_eq!(limits.wall, None);
        assert_eq!(limits.cpus, None);
    }
}

#[test]
fn offline_and_read_only_need_no_gate() {
    for (name, mode) in [("offline", Mode::Overlay), ("read-only", Mode::ReadOnly)] {
        let authority = authority(request(name));
        assert_eq!(authority.mode, mode);
        assert_eq!(authority.needs(), []);
        assert!(authority.network.is_empty());
        assert!(authority.grants.toolchains);
        assert!(!authority.grants.user_namespaces);
    }
}

#[test]
fn develop_reads_registries_and_nothing_else() {
    let develop = authority(request("develop"));
    let gates: Vec<_> = develop.needs().iter().map(|need| need.gate).collect();
    assert_eq!(gates, [Gate::Egress]);
    for yes in [
        "connect static.crates.io",
        "resolve registry.npmjs.org",
        "http GET pypi.org/simple/requests/",
        "http HEAD proxy.golang.org/x/@v/list",
        "http GET deb.debian.org:80/debian/dists/stable/InRelease",
    ] {
        assert_eq!(outcome(&develop, yes), Outcome::Allow, "{yes}");
    }
    for no in [
        "connect static.crates.io:80",
        "connect example.com",
        "connect evil.static.crates.io",
        "resolve example.com",
        "http POST pypi.org/legacy/",
        "http get pypi.org/simple/",
        "connect 169.254.169.254:80",
        "git-push github.com/ann/site main",
        "docker container/create",
        "lease github api.github.com",
        "tool bash",
    ] {
        assert_eq!(outcome(&develop, no), Outcome::Deny, "{no}");
    }
}

#[test]
fn unknown_tools_are_denied() {
    let agent = authority(request("agent"));
    for name in ["read", "write", "edit", "patch", "grep", "glob", "list", "bash", "job", "fetch"] {
        assert_eq!(outcome(&agent, &format!("tool {name}")), Outcome::Allow, "{name}");
    }
    assert_eq!(outcome(&agent, "tool sudo"), Outcome::Deny);
}

#[test]
fn the_persons_own_commands_are_allowed() {
    let offline = authority(request("offline"));
    for yes in ["apply", "discard", "undo", "branch"] {
        assert_eq!(outcome(&offline, yes), Outcome::Allow, "{yes}");
    }
}
