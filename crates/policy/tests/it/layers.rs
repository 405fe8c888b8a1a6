//! How the layers of one run meet.

use std::collections::BTreeMap;

use names::{ByteSize, Span};
use policy::{Flags, Layer, Mode, Outcome, Request, Trust};

use crate::support::{
    Shelf, action, authority, errors, outcome, request, resolved, source, verdict, with_owner,
    with_profile, with_project,
};

#[test]
fn a_profile_extends_others() {
    let base = r#"
        [profile]
        extends = "develop"
        [limits]
        memory = "1GiB"
        wall = "1h"
        [environment]
        pass = ["TERM_PROGRAM"]
        set = { A = "1", B = "1" }
        [[mount]]
        path = "~/data"
    "#;
    let child = r#"
        [profile]
        extends = "base"
        [limits]
        wall = "2h"
        [environment]
        pass = ["COLORTERM"]
        set = { B = "2" }
        [[mount]]
        path = "~/data"
        access = "scratch"
        [[network]]
        host = "example.com"
    "#;
    let library = Shelf(BTreeMap::from([("base", base), ("child", child)]));
    let authority = authority(Request { library: &library, ..request("child") });
    assert_eq!(authority.profile, "child");
    assert_eq!(authority.limits.memory, Some(ByteSize(1 << 30)));
    assert_eq!(authority.limits.processes, Some(4096));
    assert_eq!(authority.limits.wall, Some(Span::from_secs(7200)));
    assert_eq!(authority.environment.pass, ["COLORTERM", "TERM_PROGRAM"]);
    assert_eq!(authority.environment.set["A"], "1");
    assert_eq!(authority.environment.set["B"], "2");
    assert_eq!(authority.mounts.len(), 1);
    assert_eq!(authority.mounts[0].access, policy::Access::Scratch);
    assert_eq!(authority.mounts[0].origin.source, "~/.loop/profiles/child.toml");
    assert_eq!(outcome(&authority, "connect example.com"), Outcome::Allow);
    assert_eq!(outcome(&authority, "connect pypi.org"), Outcome::Allow);
    let sources: Vec<_> = authority.layers.iter().map(|layer| layer.source.as_str()).collect();
    assert_eq!(
        sources,
        [
            "built-in pinned",
            "~/.loop/profiles/child.toml",
            "~/.loop/profiles/base.toml",
            "built-in develop",
            "built-in offline",
        ]
    );
}

#[test]
fn an_empty_list_means_none() {
    let none = with_profile(
        r#"
        network = []
        mount = []
        [profile]
        extends = "develop"
        [environment]
        pass = []
        [git]
        push = []
        "#,
    );
    let none = authority(none);
    assert!(none.network.is_empty());
    assert_eq!(none.needs(), []);
    assert_eq!(outcome(&none, "connect pypi.org"), Outcome::Deny);

    for list in ["ports = []", "methods = []", "paths = []"] {
        let text = format!("[[network]]\nhost = \"example.com\"\n{list}");
        let authority = authority(with_profile(&text));
        assert_eq!(outcome(&authority, "connect example.com"), Outcome::Deny, "{list}");
        assert_eq!(outcome(&authority, "resolve example.com"), Outcome::Deny, "{list}");
        assert_eq!(outcome(&authority, "http GET example.com/"), Outcome::Deny, "{list}");
        assert_eq!(authority.needs(), [], "{list}");
    }
}

#[test]
fn inherited_rules_stay() {
    let base = r#"
        [[rule]]
        id = "no-publish"
        action = "exec"
        program = "cargo"
        args = ["publish", "**"]
        verdict = "deny"
    "#;
    let child = "rule = []\n[profile]\nextends = \"base\"";
    let library = Shelf(BTreeMap::from([("base", base), ("child", child)]));
    let authority = authority(Request { library: &library, ..request("child") });
    assert_eq!(outcome(&authority, "exec cargo publish"), Outcome::Deny);
}

#[test]
fn the_strictest_limit_holds() {
    let profile = "[limits]\nmemory = \"2GiB\"\ncpus = 4\nprocesses = 100";
    let owner = "[limits]\nmemory = \"4GiB\"\ncpus = 2.5\ndisk = \"1GiB\"";
    let project = "[limits]\nmemory = \"1GiB\"\nprocesses = 200\noutput = \"1MiB\"";
    let resolved = resolved(with_project(with_owner(with_profile(profile), owner), project));
    let limits = &resolved.authority.limits;
    assert_eq!(limits.memory, Some(ByteSize(1 << 30)));
    assert_eq!(limits.cpus, Some(policy::Milli(2500)));
    assert_eq!(limits.processes, Some(100));
    assert_eq!(limits.disk, Some(ByteSize(1 << 30)));
    assert_eq!(limits.output, Some(ByteSize(1 << 20)));
    let ignored: Vec<_> = resolved.ignored.iter().map(|one| one.origin.key.as_str()).collect();
    assert_eq!(ignored, ["limits.processes"]);
}

#[test]
fn the_strictest_mode_holds() {
    let request = with_owner(request("offline"), "[workspace]\nmode = \"read-only\"");
    assert_eq!(authority(request).mode, Mode::ReadOnly);
    let request = with_project(
        with_profile("[workspace]\nmode = \"overlay\""),
        "[workspace]\nmode = \"direct\"",
    );
    let resolved = resolved(request);
    assert_eq!(resolved.authority.mode, Mode::Overlay);
    assert_eq!(resolved.ignored.len(), 1);
}

#[test]
fn flags_only_make_stricter() {
    let flags = Flags {
        mode: Some(Mode::ReadOnly),
        environment: vec![("A".into(), "1".into()), ("A".into(), "2".into())],
        wall: Some(Span::from_secs(10)),
        ..Flags::default()
    };
    let resolved = authority(Request { flags, ..request("offline") });
    assert_eq!(resolved.mode, Mode::ReadOnly);
    assert_eq!(resolved.limits.wall, Some(Span::from_secs(10)));
    assert_eq!(resolved.environment.set["A"], "2");

    let flags = Flags { mode: Some(Mode::Overlay), ..Flags::default() };
    let wider = errors(Request { flags, ..request("read-only") });
    assert_eq!(wider.errors().len(), 1);
    let flags = Flags { wall: Some(Span::from_secs(7200)), ..Flags::default() };
    let wider = errors(Request { flags, ..with_profile("[limits]\nwall = \"1h\"") });
    assert_eq!(wider.errors().len(), 1);
}

const PROJECT: &str = r#"
[[network]]
host = "example.com"

[[mount]]
path = "/srv/data"

[environment]
pass = ["API_TOKEN"]

[limits]
memory = "1GiB"

[[rule]]
id = "ask-deploy"
action = "exec"
program = "deploy"
verdict = "ask"
"#;

#[test]
fn an_untrusted_project_has_no_effect_and_is_listed() {
    let plain = authority(request("offline"));
    let project = Some((source(".loop/config.toml", PROJECT), Trust::Untrusted));
    let resolved = resolved(Request { project, ..request("offline") });
    assert_eq!(resolved.authority, plain);
    assert_eq!(resolved.authority.digest(), plain.digest());
    let keys: Vec<_> =
        resolved.ignored.iter().map(|one| (one.origin.line, one.origin.key.as_str())).collect();
    assert_eq!(
        keys,
        [
            (3, "network.host"),
            (6, "mount.path"),
            (9, "environment.pass"),
            (12, "limits.memory"),
            (15, "rule.id"),
            (16, "rule.action"),
            (17, "rule.program"),
            (18, "rule.verdict"),
        ]
    );
}

#[test]
fn a_malformed_untrusted_project_does_not_stop_a_run() {
    for text in ["[[[", "[limits]\nmemroy = 1", "[network]\nhost = 3"] {
        let project = Some((source(".loop/config.toml", text), Trust::Untrusted));
        let resolved = resolved(Request { project, ..request("offline") });
        assert!(!resolved.ignored.is_empty(), "{text}");
    }
}

#[test]
fn a_trusted_project_adds_what_is_left_open() {
    let resolved = resolved(with_project(request("offline"), PROJECT));
    let authority = &resolved.authority;
    assert!(resolved.ignored.is_empty());
    assert_eq!(outcome(authority, "connect example.com"), Outcome::Allow);
    assert_eq!(outcome(authority, "exec deploy"), Outcome::Ask);
    assert_eq!(authority.mounts.len(), 1);
    assert!(authority.environment.passes("API_TOKEN"));
    assert_eq!(authority.network[0].layer, Layer::Project);
}

#[test]
fn a_project_stays_inside_the_owners_lists() {
    let owner = r#"
        [[network]]
        host = "*.example.com"
        ports = [443]
        [[network]]
        host = "uploads.example.net"
        [[mount]]
        path = "/srv"
        access = "read"
        [environment]
        pass = ["API_*"]
        [git]
        push = ["team/**"]
    "#;
    let project = r#"
        [[network]]
        host = "example.com"
        [[network]]
        host = "uploads.example.net"
        ports = [443, 8443]
        [[network]]
        host = "**.example.com"
        [[mount]]
        path = "/srv/data"
        [[mount]]
        path = "/srv/cache"
        access = "write"
        [[mount]]
        path = "/opt"
        [environment]
        pass = ["API_TOKEN", "SECRET"]
        [git]
        push = ["team/ann", "main"]
        [[rule]]
        id = "ask-elsewhere"
        action = "connect"
        host = "elsewhere.org"
        verdict = "ask"
    "#;
    let resolved = resolved(with_project(with_owner(request("offline"), owner), project));
    let authority = &resolved.authority;
    let of_project = authority.network.iter().filter(|grant| grant.layer == Layer::Project);
    let targets: Vec<_> = of_project.map(|grant| grant.target.to_string()).collect();
    assert_eq!(targets, ["uploads.example.net:443", "*.example.com:443"]);
    assert_eq!(outcome(authority, "connect example.com"), Outcome::Deny);
    assert_eq!(outcome(authority, "connect elsewhere.org"), Outcome::Deny);
    assert_eq!(outcome(authority, "git-push github.com/ann/site team/ann"), Outcome::Allow);
    assert_eq!(outcome(authority, "git-push github.com/ann/site main"), Outcome::Deny);
    let mounts: Vec<_> =
        authority.mounts.iter().map(|mount| mount.path.to_str().unwrap()).collect();
    assert_eq!(mounts, ["/srv", "/srv/data"]);
    assert!(!authority.environment.passes("SECRET"));
    insta::assert_snapshot!(
        resolved
            .ignored
            .iter()
            .map(|one| format!("{}: {}: {}\n", one.origin, one.origin.key, one.why))
            .collect::<String>()
    );
}

/// A rule about connections carries requests: narrowed to an owner's destination, only its requests.
#[test]
fn a_projects_connections_carry_only_the_requests_that_the_owner_lists() {
    let owner = "[[network]]\nhost = \"a.example.com\"\npaths = [\"/a/*\"]";
    let project = "[[rule]]\naction = \"connect\"\nhost = \"*.example.com\"\nverdict = \"allow\"";
    let both = authority(with_project(with_owner(request("offline"), owner), project));
    assert_eq!(outcome(&both, "http GET a.example.com/a/x"), Outcome::Allow);
    assert_eq!(outcome(&both, "http GET a.example.com/b"), Outcome::Deny);
    assert_eq!(outcome(&both, "connect b.example.com"), Outcome::Deny);
}

#[test]
fn a_project_never_lifts_a_denial() {
    let owner = r#"
        [[rule]]
        id = "no-example"
        action = "connect"
        host = "**.example.com"
        verdict = "deny"
        [[rule]]
        id = "no-ssh-keys"
        action = "mount"
        path = "~/.ssh/**"
        verdict = "deny"
        reason = "keys stay at home"
        [environment]
        deny = ["AWS_*"]
        [sandbox]
        user_namespaces = false
        [defaults]
        exec = "deny"
    "#;
    let project = r#"
        [[network]]
        host = "api.example.com"
        [[mount]]
        path = "~/.ssh"
        [[mount]]
        path = "~"
        [environment]
        pass = ["AWS_SECRET_ACCESS_KEY"]
        [sandbox]
        user_namespaces = true
        [[rule]]
        id = "let-me"
        action = "exec"
        verdict = "allow"
    "#;
    let resolved = resolved(with_project(with_owner(request("offline"), owner), project));
    let authority = &resolved.authority;
    let refused = verdict(authority, "connect api.example.com");
    assert_eq!(refused.outcome, Outcome::Deny);
    assert_eq!(refused.decided_by[0].rule, "no-example");
    assert_eq!(refused.lost[0].rule, "network api.example.com");
    assert_eq!(outcome(authority, "exec ls"), Outcome::Deny);
    assert!(authority.mounts.is_empty());
    assert!(!authority.environment.passes("AWS_SECRET_ACCESS_KEY"));
    assert!(!authority.grants.user_namespaces);
    insta::assert_snapshot!(
        resolved
            .ignored
            .iter()
            .map(|one| format!("{}: {}: {}\n", one.origin, one.origin.key, one.why))
            .collect::<String>()
    );
}

#[test]
fn what_the_owner_closes_by_default_stays_closed() {
    let owner = "[defaults]\nconnect = \"deny\"";
    let project = "[[network]]\nhost = \"example.com\"";
    let resolved = resolved(with_project(with_owner(request("offline"), owner), project));
    assert!(resolved.authority.network.is_empty());
    assert_eq!(resolved.ignored.len(), 1);
}

#[test]
fn the_owner_gives_to_every_run_and_tests_every_run() {
    let owner = r#"
        [[network]]
        host = "registry.corp.example.com"
        addresses = ["10.1.0.0/16"]
        dial = "10.1.2.3:8443"
        ca_file = "/etc/corp/ca.pem"
        [[expect]]
        action = "connect"
        host = "pypi.org"
        verdict = "deny"
    "#;
    let offline = authority(with_owner(request("offline"), owner));
    assert_eq!(outcome(&offline, "connect registry.corp.example.com"), Outcome::Allow);
    let policy::Action::Connect(connect) = action("connect registry.corp.example.com") else {
        panic!("it is a connect");
    };
    let grants = offline.grants_for(&connect);
    assert_eq!(grants.len(), 1);
    assert!(grants[0].addresses[0].contains("10.1.2.3".parse().unwrap()));
    assert_eq!(errors(with_owner(request("develop"), owner)).errors().len(), 1);
}

#[test]
fn direct_mode_guards_and_needs_the_gate() {
    let direct = authority(with_profile("[workspace]\nmode = \"direct\""));
    assert_eq!(direct.needs()[0].gate, policy::Gate::SyscallGate);
    for guarded in [
        "/home/ann/work/site/.git/config",
        "/home/ann/work/site/vendor/sub/.git/hooks/pre-commit",
        "/home/ann/work/site/.git",
        "/home/ann/work/site/.loop/config.toml",
        "/home/ann/work/site/.claude/settings.json",
        "/home/ann/work/site/.vscode/tasks.json",
        "/home/ann/work/site/AGENTS.md",
    ] {
        assert_eq!(outcome(&direct, &format!("open {guarded} write")), Outcome::Ask, "{guarded}");
        assert_eq!(outcome(&direct, &format!("open {guarded} read")), Outcome::Allow, "{guarded}");
    }
    assert_eq!(outcome(&direct, "open /home/ann/work/site/src/lib.rs write"), Outcome::Allow);
}

#[test]
fn an_agents_profile_is_put_on_top_of_the_chosen_one_once() {
    let flags = Flags { agent: Some("claude".to_owned()), ..Flags::default() };
    let on = |request: Request<'static>| Request { flags: flags.clone(), ..request };
    let offline = authority(on(request("offline")));
    assert_eq!(offline.profile, "claude");
    assert!(offline.network.is_empty(), "its own base does not come along");
    assert!(offline.environment.set.contains_key("DISABLE_TELEMETRY"));
    let own = authority(on(request("claude")));
    assert_eq!(own, authority(request("claude")));
    // What the agent's self-tests say of its own base is no fault of another.
    let wide = "[profile]\nname = \"wide\"\nextends = \"offline\"\n\
                [[network]]\nhost = \"statsig.anthropic.com\"\nports = [443]\n";
    let wide = authority(on(with_profile(wide)));
    assert_eq!(outcome(&wide, "connect statsig.anthropic.com"), Outcome::Allow);
    let unknown = Flags { agent: Some("clod".to_owned()), ..Flags::default() };
    assert!(errors(Request { flags: unknown, ..request("offline") }).to_string().contains("clod"));
}

#[test]
fn an_authority_survives_its_record() {
    for name in policy::built_in_names() {
        let authority = authority(with_project(request(name), PROJECT));
        let bytes = names::canonical::to_vec(&authority).unwrap();
        let back: policy::Authority = names::canonical::parse(&bytes).unwrap();
        assert_eq!(back, authority);
        assert_eq!(back.digest(), authority.digest());
        for text in ["connect example.com", "exec deploy now", "http GET pypi.org/"] {
            assert_eq!(back.decide(&action(text)), authority.decide(&action(text)));
        }
    }
}

#[test]
fn a_record_of_another_kind_is_no_authority() {
    let record =
        serde_json::to_value(authority(with_project(request("develop"), PROJECT))).unwrap();
    let back = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = record.clone();
        change(&mut changed);
        serde_json::from_value::<policy::Authority>(changed)
    };
    assert!(back(&|_| {}).is_ok());
    assert!(back(&|record| record["schema"] = 2.into()).is_err());
    assert!(back(&|record| record["extra"] = true.into()).is_err());
    assert!(back(&|record| record["grants"]["extra"] = true.into()).is_err());
    assert!(back(&|record| record["rules"][0]["extra"] = true.into()).is_err());
    assert!(back(&|record| record["rules"][0]["verdict"] = "perhaps".into()).is_err());
    assert!(back(&|record| record["rules"][0]["when"]["path"] = "a*b".into()).is_err());
    assert!(back(&|record| record["network"][0]["target"]["host"] = "*".into()).is_err());
    assert!(back(&|record| record["mounts"][0]["path"] = "%zz".into()).is_err());
}

#[test]
fn how_a_person_is_asked_is_the_owners_to_say() {
    let usual = authority(request("offline"));
    assert_eq!(usual.approvals, policy::AskLimits::default());
    assert!(!usual.may_ask());
    let owner = "[approvals]\ntimeout = \"90s\"\nmax_waiting = 2";
    let asked = authority(with_owner(request("offline"), owner));
    assert_eq!(asked.approvals.timeout, Span::from_secs(90));
    assert_eq!((asked.approvals.max_waiting, asked.approvals.max_per_minute), (2, 30));
    assert_ne!(asked.digest(), usual.digest());
    let profile = errors(with_profile(owner));
    assert_eq!(profile.errors()[0].origin.key, "approvals.timeout");
    let project = errors(with_project(request("offline"), owner));
    assert_eq!(project.errors().len(), 2, "{project}");
    for wrong in ["timeout = \"0s\"", "timeout = \"8d\"", "max_waiting = 0", "max_per_minute = -1"]
    {
        let refused = errors(with_owner(request("offline"), &format!("[approvals]\n{wrong}")));
        assert_eq!(refused.errors().len(), 1, "{wrong}");
    }
}

#[test]
fn who_may_be_asked_is_seen_from_the_rules() {
    let rule = |action: &str| format!("[[rule]]\naction = \"{action}\"\nverdict = \"ask\"");
    assert!(authority(with_profile(&rule("exec"))).may_ask());
    assert!(authority(with_profile("[defaults]\nexec = \"ask\"")).may_ask());
    // That is the person's own command.
    assert!(!authority(with_profile(&rule("apply"))).may_ask());
}
