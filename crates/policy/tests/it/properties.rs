//! What holds for every profile and every action.

use std::collections::BTreeSet;

use policy::{Action, Authority, Cause, Outcome, reach_diff};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use crate::oracle;
use crate::support::{request, with_owner, with_profile, with_project};

/// One rule or grant in TOML, without a name.
pub(crate) fn rule() -> impl Strategy<Value = String> {
    let verdict = || select(vec!["allow", "ask", "deny"]);
    let exec = (
        select(vec!["a", "b", "*", "/p/a", "/p/*", "/p/**", "**/a", "/*/b", "~/a"]),
        select(vec!["", "[]", r#"["x"]"#, r#"["x", "**"]"#, r#"["**", "y"]"#, r#"["*"]"#]),
        select(vec!["", "/w", "/w/**"]),
        verdict(),
    )
        .prop_map(|(program, args, cwd, verdict)| {
            let args = if args.is_empty() { String::new() } else { format!("args = {args}\n") };
            let cwd = if cwd.is_empty() { String::new() } else { format!("cwd = \"{cwd}\"\n") };
            format!("[[rule]]\naction = \"exec\"\nprogram = \"{program}\"\n{args}{cwd}verdict = \"{verdict}\"\n")
        });
    let open = (
        select(vec!["/p/a", "/p/*", "/p/**", "**/a/**", "/p/*/b", "**", "**/b", "/p/**/a/*"]),
        select(vec!["", "access = \"read\"\n", "access = \"write\"\n"]),
        verdict(),
    )
        .prop_map(|(path, access, verdict)| {
            format!(
                "[[rule]]\naction = \"open\"\npath = \"{path}\"\n{access}verdict = \"{verdict}\"\n"
            )
        });
    let connect = (host(), ports(), verdict()).prop_map(|(host, ports, verdict)| {
        format!(
            "[[rule]]\naction = \"connect\"\nhost = \"{host}\"\n{ports}verdict = \"{verdict}\"\n"
        )
    });
    let resolve = (host(), verdict()).prop_map(|(host, verdict)| {
        format!("[[rule]]\naction = \"resolve\"\nhost = \"{host}\"\nverdict = \"{verdict}\"\n")
    });
    let http = (host(), ports(), methods(), paths(), verdict()).prop_map(
        |(host, ports, methods, paths, verdict)| {
            format!(
                "[[rule]]\naction = \"http\"\nhost = \"{host}\"\n{ports}{methods}{paths}verdict = \"{verdict}\"\n"
            )
        },
    );
    let push = (
        select(vec!["", "refs = [\"main\"]\n", "refs = [\"loop/**\", \"refs/tags/*\"]\n"]),
        select(vec!["", "changes = [\"create\", \"update\"]\n", "changes = [\"force\"]\n"]),
        select(vec!["", "repository = \"ann/*\"\n", "host = \"github.com\"\n"]),
        verdict(),
    )
        .prop_map(|(refs, changes, remote, verdict)| {
            format!(
                "[[rule]]\naction = \"git-push\"\n{refs}{changes}{remote}verdict = \"{verdict}\"\n"
            )
        });
    let tool = (select(vec!["", "tool = \"bash\"\n", "tool = \"*\"\n"]), verdict()).prop_map(
        |(tool, verdict)| format!("[[rule]]\naction = \"tool\"\n{tool}verdict = \"{verdict}\"\n"),
    );
    let apply = (select(vec!["", "flagged = true\n", "flagged = false\n"]), verdict()).prop_map(
        |(flagged, verdict)| {
            format!("[[rule]]\naction = \"apply\"\n{flagged}verdict = \"{verdict}\"\n")
        },
    );
    prop_oneof![exec, open, connect, resolve, http, push, tool, apply, grant()]
}

fn grant() -> impl Strategy<Value = String> {
    (host(), prop_oneof![ports(), Just("ports = []\n")], methods(), paths()).prop_map(
        |(host, ports, methods, paths)| {
            format!("[[network]]\nhost = \"{host}\"\n{ports}{methods}{paths}")
        },
    )
}

fn host() -> impl Strategy<Value = &'static str> {
    select(vec![
        "example.com",
        "a.example.com",
        "b.a.example.com",
        "*.example.com",
        "**.example.com",
        "*.a.example.com",
        "example.org",
    ])
}

fn ports() -> impl Strategy<Value = &'static str> {
    select(vec!["", "ports = [443]\n", "ports = [80, 443]\n", "ports = [22]\n"])
}

fn methods() -> impl Strategy<Value = &'static str> {
    select(vec!["", "methods = [\"GET\"]\n", "methods = [\"GET\", \"POST\"]\n"])
}

fn paths() -> impl Strategy<Value = &'static str> {
    select(vec!["", "paths = [\"/a/**\"]\n", "paths = [\"/a/*\", \"/b\"]\n", "paths = [\"/\"]\n"])
}

pub(crate) fn action() -> impl Strategy<Value = Action> {
    let program = select(vec!["/p/a", "/p/b", "/q/a", "/p/q/a", "/home/ann/a", "/p/../a"]);
    let args = subsequence(vec!["x", "y", "z"], 0..=3);
    let cwd = select(vec!["/", "/w", "/w/v"]);
    let called = subsequence(vec!["/p/b", "a", "/home/ann/a", "/q/c"], 0..=2);
    let exec = (program, args, cwd, called).prop_map(|(program, args, cwd, called)| {
        let called = called.into_iter().map(Into::into).collect();
        let args = args.into_iter().map(str::to_owned).collect();
        policy::Exec { called, ..policy::Exec::new(program, args, cwd) }.into()
    });
    let paths = vec!["/p", "/p/a", "/p/b", "/p/c/b", "/p/c/a/d", "/a", "/", "/a/b/c", "/p//a"];
    let open = (select(paths), select(vec!["read", "write"])).prop_map(|(path, access)| {
        let access = policy::FileAccess::of_word(access).unwrap();
        policy::Open { path: path.into(), access, content: None }.into()
    });
    let hosts = || {
        select(vec![
            "example.com",
            "a.example.com",
            "b.a.example.com",
            "c.example.com",
            "example.org",
        ])
    };
    let port = || select(vec!["443", "80", "22", "1"]);
    let connect =
        (hosts(), port()).prop_map(|(host, port)| words(&format!("connect {host}:{port}")));
    let resolve = hosts().prop_map(|host| words(&format!("resolve {host}")));
    let urls =
        vec!["/", "/a", "/a/", "/a/x", "/a/x/y", "/b", "/b?a=1", "/a/../c", "//a", "/%61", "/a;b"];
    let http = (hosts(), port(), select(vec!["GET", "POST", "PUT"]), select(urls))
        .prop_map(|(host, port, method, url)| words(&format!("http {method} {host}:{port}{url}")));
    let push = (
        select(vec!["github.com/ann/site", "github.com/bob/site", "gitlab.com/ann/site"]),
        select(vec!["main", "loop/a/b", "refs/tags/v1", "refs/tags/a/b"]),
        select(vec!["create", "update", "force", "delete"]),
    )
        .prop_map(|(remote, reference, change)| {
            words(&format!("git-push {remote} {reference} {change}"))
        });
    let others = select(vec!["tool bash", "tool edit", "apply", "apply 261129-k7m2qd x", "undo"])
        .prop_map(words);
    prop_oneof![exec, open, connect, resolve, http, push, others]
}

fn words(text: &str) -> Action {
    Action::parse(text).unwrap()
}

/// A text of these rules without those that say something else about the same.
pub(crate) fn profile(rules: &[String]) -> String {
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for rule in rules {
        let about = rule.rsplit_once("verdict").map_or(rule.as_str(), |(about, _)| about);
        if seen.insert(about) {
            text += rule;
        }
    }
    text
}

/// The authority of a profile, if its parts don't contradict each other.
fn resolved(text: &str) -> Option<Authority> {
    policy::resolve(with_profile(text)).ok().map(|resolved| resolved.authority)
}

fn ids(causes: &[Cause]) -> BTreeSet<(String, Outcome, u32)> {
    let id = |cause: &Cause| {
        (cause.rule.clone(), cause.says, cause.origin.as_ref().map_or(0, |origin| origin.line))
    };
    causes.iter().map(id).collect()
}

pub(crate) fn rules() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(rule(), 0..12)
}

pub(crate) fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec(action(), 1..12)
}

proptest! {
    /// The indexed evaluator and the naive one agree.
    #[test]
    fn decides_as_defined(rules in rules(), actions in actions()) {
        let Some(authority) = resolved(&profile(&rules)) else { return Ok(()) };
        let json = serde_json::to_value(&authority).unwrap();
        for action in actions {
            let expected = oracle::outcome(&json, &serde_json::to_value(&action).unwrap());
            let verdict = authority.decide(&action);
            prop_assert_eq!(verdict.outcome.word(), expected, "{}", verdict.explain(&action));
            prop_assert!(!verdict.decided_by.is_empty());
            prop_assert!(verdict.decided_by.iter().all(|cause| cause.says == verdict.outcome));
            prop_assert!(verdict.lost.iter().all(|cause| cause.says < verdict.outcome));
            prop_assert!(verdict.outcome != Outcome::Allow || verdict.remedy.is_none());
        }
    }

    /// Neither the order of an authority's rules nor that of its grants matters.
    #[test]
    fn order_does_not_matter(rules in rules(), actions in actions(), swaps in prop::collection::vec(any::<(Index, Index)>(), 8)) {
        let Some(authority) = resolved(&profile(&rules)) else { return Ok(()) };
        let mut shuffled = authority.clone();
        for (one, other) in swaps {
            if !shuffled.rules.is_empty() {
                let len = shuffled.rules.len();
                shuffled.rules.swap(one.index(len), other.index(len));
            }
            if !shuffled.network.is_empty() {
                let len = shuffled.network.len();
                shuffled.network.swap(one.index(len), other.index(len));
            }
        }
        for action in actions {
            let (one, other) = (authority.decide(&action), shuffled.decide(&action));
            prop_assert_eq!(one.outcome, other.outcome);
            prop_assert_eq!(ids(&one.decided_by), ids(&other.decided_by));
            prop_assert_eq!(ids(&one.lost), ids(&other.lost));
        }
    }

    /// Neither does the layer, between the owner's and the profile.
    #[test]
    fn the_layer_does_not_matter(rules in rules(), sides in prop::collection::vec(any::<bool>(), 12), actions in actions()) {
        let Some(together) = resolved(&profile(&rules)) else { return Ok(()) };
        let text = profile(&rules);
        let parts: Vec<&str> = text.split_inclusive("[[").collect();
        let parts: Vec<String> = parts.join("").split("[[").skip(1).map(|part| format!("[[{part}")).collect();
        let side = |wanted: bool| -> String {
            let chosen = parts.iter().zip(&sides).filter(|(_, side)| **side == wanted);
            chosen.map(|(part, _)| part.as_str()).collect()
        };
        let split = policy::resolve(with_owner(with_profile(&side(true)), &side(false))).unwrap();
        for action in actions {
            prop_assert_eq!(together.decide(&action).outcome, split.authority.decide(&action).outcome);
        }
    }

    /// Whatever a trusted project says, what the owner denies stays denied, and where the owner
    /// lists destinations, nothing else can be reached.
    #[test]
    fn a_project_never_widens_the_owners(owner in rules(), project in rules(), actions in actions()) {
        let owner = profile(&owner);
        let Ok(alone) = policy::resolve(with_owner(request("offline"), &owner)) else { return Ok(()) };
        let with = with_project(with_owner(request("offline"), &owner), &profile(&project));
        let Ok(both) = policy::resolve(with) else { return Ok(()) };
        for action in actions {
            let (before, after) = (alone.authority.decide(&action), both.authority.decide(&action));
            let by_owner = before.decided_by.iter().any(|cause| cause.layer == policy::Layer::Owner);
            if before.outcome == Outcome::Deny && by_owner {
                prop_assert_eq!(after.outcome, Outcome::Deny, "{}", after.explain(&action));
            }
            let network = matches!(action, Action::Connect(_) | Action::Resolve(_) | Action::Http(_));
            if network && owner.contains("[[network]]") {
                prop_assert!(after.outcome >= before.outcome, "{}", after.explain(&action));
            }
        }
    }

    /// What the later authority decides more freely about shows in the difference.
    #[test]
    fn the_difference_leaves_nothing_out(before in rules(), after in rules(), actions in actions()) {
        let (Some(before), Some(after)) = (resolved(&profile(&before)), resolved(&profile(&after)))
        else { return Ok(()) };
        let diff = reach_diff(&before, &after);
        for action in actions {
            let (one, other) = (before.decide(&action), after.decide(&action));
            if other.outcome < one.outcome {
                prop_assert!(!diff.gained.is_empty(), "{}", other.explain(&action));
            }
            if other.outcome > one.outcome {
                prop_assert!(!diff.lost.is_empty(), "{}", other.explain(&action));
            }
        }
    }

    /// Any text is refused or resolved, and the promises hold.
    #[test]
    fn any_text(text in "(\\[\\[?[a-z]{1,9}\\]\\]?\n|[a-z_]{1,9} = (\"[a-z*./~]{0,9}\"|[0-9.]{1,4}|\\[\\]|true)\n){0,8}") {
        policy::fuzz_profile(text.as_bytes());
    }
}
