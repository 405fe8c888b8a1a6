//! What is proposed allows what was seen, and nothing else.

use policy::{
    Action, Authority, Exec, Layer, Observed, Outcome, Placement, Proposal, Request, RiskClass,
    Source, propose,
};
use proptest::prelude::*;

use crate::properties::{action, actions, profile, rules};
use crate::support::{action as words, authority, request, source, with_owner, with_profile};

/// Everything asks or is denied that no rule allows.
const STRICT: &str = "[defaults]\nexec = \"ask\"\nopen = \"deny\"\n\n";

fn seen(actions: &[Action]) -> Vec<Observed> {
    actions.iter().map(|action| Observed { action: action.clone(), times: 1 }).collect()
}

fn proposed(request: &Request<'_>, texts: &[&str]) -> Proposal {
    let actions: Vec<_> = texts.iter().map(|text| words(text)).collect();
    propose(request, "mine", &seen(&actions)).unwrap()
}

/// The authority that a person gets who does what the proposal says.
fn followed(request: &Request<'_>, proposal: &Proposal) -> Authority {
    let text = match (&proposal.place, &request.profile) {
        (Placement::Append(_), Some(file)) => format!("{}\n{}", file.text, proposal.text),
        _ if proposal.text.is_empty() => return authority(request.clone()),
        _ => proposal.text.clone(),
    };
    authority(Request { profile: Some(source("mine.toml", &text)), ..request.clone() })
}

/// What an allow rule for `seen` has to allow, too: a program elsewhere or under another name, the
/// name and the connection of a request, requests over a connection.
fn implied(seen: &Action, other: &Action) -> bool {
    match (seen, other) {
        (Action::Exec(seen), Action::Exec(other)) => {
            seen.program == other.program && seen.args == other.args
        }
        (Action::Http(seen), Action::Http(other)) => {
            let path = |http: &policy::Http| {
                let path = http.path.split(['?', '#']).next().unwrap_or_default().to_owned();
                path.trim_end_matches('/').to_owned()
            };
            (&seen.host, seen.port, &seen.method, path(seen))
                == (&other.host, other.port, &other.method, path(other))
        }
        (Action::Http(seen), Action::Connect(other)) => {
            seen.host == other.host && seen.port == other.port
        }
        (Action::Connect(seen), Action::Http(other)) => {
            seen.host == other.host && seen.port == other.port
        }
        (Action::Connect(seen), Action::Resolve(other)) => seen.host == other.host,
        (Action::Http(seen), Action::Resolve(other)) => seen.host == other.host,
        (Action::Resolve(seen), Action::Connect(other)) => {
            seen.host == other.host && other.port.number() == 443
        }
        (Action::Resolve(seen), Action::Http(other)) => {
            seen.host == other.host && other.port.number() == 443
        }
        _ => seen == other,
    }
}

proptest! {
    /// Resolved on top of the profile, it allows everything that was seen, unless a rule stands in
    /// the way or no rule can name it, which is said; and of anything else nothing changes.
    #[test]
    fn allows_what_was_seen_and_nothing_else(
        rules in rules(),
        observed in actions(),
        others in prop::collection::vec(action(), 24),
    ) {
        let request = with_profile(&format!("{STRICT}{}", profile(&rules)));
        let Ok(before) = policy::resolve(request.clone()) else { return Ok(()) };
        let before = before.authority;
        let mut observed = observed;
        // More than eight of a kind are merged.
        observed.truncate(8);
        let proposal = propose(&request, "mine", &seen(&observed)).unwrap();
        let after = followed(&request, &proposal);
        for action in &observed {
            let verdict = before.decide(action);
            let by_rule = verdict.outcome != Outcome::Allow
                && !verdict.decided_by[0].rule.starts_with("default ");
            let left_out = proposal.left_out.iter().any(|out| out.action == action.to_string());
            let obstacle = verdict.decided_by.iter().all(|cause| {
                proposal.obstacles.iter().any(|obstacle| obstacle.rule == *cause)
            });
            let outcome = after.decide(action).outcome;
            prop_assert!(
                (outcome == Outcome::Allow) ^ left_out ^ (by_rule && obstacle && !left_out),
                "{} is {} after\n{}", action, outcome, proposal.text
            );
        }
        for other in &others {
            if !observed.iter().any(|seen| implied(seen, other)) {
                prop_assert_eq!(
                    before.decide(other).outcome, after.decide(other).outcome,
                    "{} after\n{}", other, proposal.text
                );
            }
        }
        prop_assert_eq!(proposal.reach.lost, vec![]);
        prop_assert_eq!(proposal.text.is_empty(), proposal.additions.is_empty());
    }

    /// However many there are: merged rules allow each, and no other program.
    #[test]
    fn many_arguments_are_merged_and_all_allowed(
        lists in prop::collection::vec(
            prop::collection::vec(prop_oneof!["a", "b", "-[c-z]", ".*"], 0..4), 1..80),
        other in prop::collection::vec("[a-e]", 0..3),
    ) {
        let request = with_profile(STRICT);
        let exec = |program: &str, args: &[String]| -> Action {
            Exec::new(program, args.to_vec(), "/w").into()
        };
        let observed: Vec<_> = lists.iter().map(|args| exec("/usr/bin/x", args)).collect();
        let proposal = propose(&request, "mine", &seen(&observed)).unwrap();
        prop_assert!(proposal.additions.len() <= 32 && proposal.left_out.is_empty());
        let after = followed(&request, &proposal);
        for action in &observed {
            prop_assert_eq!(after.decide(action).outcome, Outcome::Allow, "{}", proposal.text);
        }
        prop_assert_eq!(after.decide(&exec("/usr/bin/y", &other)).outcome, Outcome::Ask);
        prop_assert_eq!(after.decide(&exec("/opt/bin/x", &other)).outcome, Outcome::Ask);
    }

    /// Names of the run's choice stay in their strings.
    #[test]
    fn hostile_names_say_nothing(program in "/[^/\0]{1,20}", args in prop::collection::vec(any::<String>(), 0..3)) {
        let request = with_profile(STRICT);
        let action: Action = Exec::new(program, args, "/w").into();
        let proposal = propose(&request, "mine", &seen(std::slice::from_ref(&action))).unwrap();
        prop_assert!(proposal.additions.len() + proposal.left_out.len() == 1);
        let shown = |c: char| c != '\n' && (c.is_control() || names::is_invisible(c));
        prop_assert!(!proposal.text.contains(shown));
        let after = followed(&request, &proposal);
        let expected = if proposal.left_out.is_empty() { Outcome::Allow } else { Outcome::Ask };
        let outcome = after.decide(&action).outcome;
        prop_assert!(outcome == expected || !proposal.left_out.is_empty());
        prop_assert_eq!(after.rules.len() - authority(request).rules.len(), proposal.additions.len());
    }
}

const RULES: &str = r#"
[profile]
name = "mine"
extends = "develop"

[defaults]
exec = "ask"
open = "ask"

[[rule]]
id = "ask-before-publish"
action = "exec"
program = "cargo"
args = ["publish", "**"]
verdict = "ask"
reason = "publishing can't be undone"
"#;

const SEEN: &[&str] = &[
    "exec git push origin feature",
    "exec git push origin feature",
    "exec bash -c 'make all'",
    "exec cargo publish --dry-run",
    "exec /home/ann/work/site/run.sh",
    "exec '/usr/bin/[' a",
    "open ~/.ssh/known_hosts",
    "open AGENTS.md write",
    "resolve example.com",
    "connect example.org:22",
    "http POST crates.io/api/v1/crates/new",
    "http GET crates.io/a/../b",
    "http GET example.net/one",
    "http HEAD example.net/one",
    "connect 169.254.169.254:80",
    "git-push github.com/ann/site loop/x create",
    "git-push github.com/ann/site main force",
    "lease github api.github.com",
    "tool bash",
    "docker container/create alpine",
];

#[test]
fn a_proposal_reads_well() {
    let proposal = proposed(&with_profile(RULES), SEEN);
    let mut told = format!("{:?}\n\n{}\n", proposal.place, proposal.text);
    for obstacle in &proposal.obstacles {
        told += &format!(
            "obstacle {} ({} times): {}\n",
            obstacle.rule, obstacle.times, obstacle.reason
        );
        let lifting = obstacle.lifting.iter().flatten();
        told += &lifting.map(|reach| format!("  without it: {reach}\n")).collect::<String>();
    }
    for out in &proposal.left_out {
        told += &format!("left out {}: {}\n", out.action, out.why);
    }
    told += &format!("\n{}", proposal.reach);
    insta::assert_snapshot!(told);
}

#[test]
fn a_built_in_profile_is_extended_by_a_new_one() {
    let request = request("offline");
    let proposal = proposed(&request, &["connect example.com:443"]);
    assert_eq!(proposal.place, Placement::Create("mine".to_owned()));
    assert!(proposal.text.starts_with("[profile]\nname = \"mine\"\nextends = \"offline\"\n\n"));
    let after = followed(&request, &proposal);
    assert_eq!(after.decide(&words("connect example.com:443")).outcome, Outcome::Allow);
    assert_eq!(after.decide(&words("connect example.com:80")).outcome, Outcome::Deny);
    assert_eq!(after.limits, authority(request).limits);
}

#[test]
fn a_denial_of_the_owner_is_told_and_never_lifted() {
    let rule = "[[rule]]\nid = \"no-push\"\naction = \"exec\"\nprogram = \"git\"\n\
                args = [\"push\", \"**\"]\nverdict = \"deny\"\nreason = \"not from here\"\n";
    let request = with_owner(with_profile(STRICT), rule);
    let proposal = proposed(&request, &["exec git push", "exec git push", "exec git status"]);
    let [obstacle] = proposal.obstacles.as_slice() else { panic!("{:?}", proposal.obstacles) };
    assert_eq!((obstacle.rule.rule.as_str(), obstacle.times), ("no-push", 2));
    assert_eq!((obstacle.rule.layer, obstacle.rule.says), (Layer::Owner, Outcome::Deny));
    assert_eq!(obstacle.rule.origin.as_ref().unwrap().to_string(), "~/.loop/config.toml:1");
    assert_eq!((obstacle.lifting.as_deref(), obstacle.reason.as_str()), (None, "not from here"));
    assert_eq!(proposal.additions.len(), 1);
    assert_eq!(proposal.additions[0].allows, "exec /usr/bin/git status");
}

#[test]
fn what_is_allowed_by_now_is_counted_and_not_proposed() {
    let proposal = proposed(&with_profile(STRICT), &["http GET example.com/", "apply"]);
    assert_eq!((proposal.allowed, proposal.additions.len()), (1, 1));
    let again = with_profile(&format!("{STRICT}{}", proposal.text));
    let proposal = proposed(&again, &["http GET example.com/"]);
    assert_eq!((proposal.allowed, proposal.text.as_str()), (1, ""));
    assert!(proposal.reach.is_empty());
}

/// Where a self-test of the profile says that it stays denied, it does.
#[test]
fn a_self_test_stands_in_the_way() {
    let expect = "[[expect]]\naction = \"connect\"\nhost = \"example.com\"\nverdict = \"deny\"\n";
    let request = with_profile(expect);
    let proposal = proposed(&request, &["connect example.com:443", "connect example.org:443"]);
    assert_eq!(proposal.additions.len(), 1);
    assert_eq!(proposal.additions[0].id, "network example.org");
    assert!(proposal.left_out[0].why.contains("test.toml:1"), "{}", proposal.left_out[0].why);
}

#[test]
fn a_private_address_is_not_the_profiles_to_give() {
    let proposal = proposed(&with_profile(STRICT), &["connect 10.1.2.3:443"]);
    assert!(proposal.text.is_empty());
    assert!(proposal.left_out[0].why.contains("10.1.2.3"), "{}", proposal.left_out[0].why);
}

#[test]
fn ids_are_of_no_other_rule() {
    let rule = "[[rule]]\nid = \"learned-git\"\naction = \"tool\"\nverdict = \"allow\"\n";
    let request = with_profile(&format!("{STRICT}{rule}"));
    let proposal = proposed(&request, &["exec git status", "exec git log"]);
    let ids: Vec<_> = proposal.additions.iter().map(|addition| addition.id.as_str()).collect();
    assert_eq!(ids, ["learned-git-2", "learned-git-3"]);
}

/// An inline list can't be added to by a section.
#[test]
fn a_file_that_takes_no_addition_is_told() {
    let text = format!("network = []\n{STRICT}");
    let request = with_profile(&text);
    let proposal = proposed(&request, &["connect example.com:443", "exec git status"]);
    assert_eq!(proposal.additions.len(), 1);
    assert_eq!(proposal.left_out[0].action, "connect example.com:443");
}

#[test]
fn risks_are_named_beside_what_brings_them() {
    let proposal = proposed(&with_profile(STRICT), &["exec bash -c x", "exec ls"]);
    let classes: Vec<Vec<RiskClass>> = proposal
        .additions
        .iter()
        .map(|addition| addition.risks.iter().map(|risk| risk.class).collect())
        .collect();
    assert_eq!(classes, [vec![RiskClass::RunsCode], vec![]]);
    assert!(proposal.text.contains("# risk: runs-code: bash executes what it is given\n"));
    let source = Source { layer: Layer::Named, name: "x".to_owned(), text: proposal.text };
    assert!(policy::resolve(Request { profile: Some(source), ..request("x") }).is_ok());
}
