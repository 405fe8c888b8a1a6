//! What an agent gets, and what is refused before it gets anything.

use std::collections::BTreeSet;

use api::{LeaseAddRequest, exit};

use super::*;
use crate::fixture::World;
use crate::{authority, lease};

const CANARY: &str = "canary-5d1e-value";

fn world(variables: &[&str]) -> World {
    let mut world = World::new();
    for name in variables {
        world.settings.environment.insert(name.into(), CANARY.into());
    }
    world
}

fn set(world: &mut World, name: &str, value: &str) {
    world.settings.environment.insert(name.into(), value.into());
}

fn keep(world: &World, host: &str, header: &str, env: &str) {
    let request = LeaseAddRequest {
        name: "anthropic".to_owned(),
        host: host.to_owned(),
        header: header.to_owned(),
        env: Some(env.to_owned()),
        from: "env:KEPT".to_owned(),
        ..LeaseAddRequest::default()
    };
    lease::add(&world.settings, &request).unwrap();
}

fn resolved(world: &World, agent: Agent, profile: Option<&str>) -> policy::Authority {
    let kit = Kit::of(&world.settings, agent).unwrap();
    let offer = kit.offer(&world.settings);
    let project = world.settings.project(None).unwrap();
    let flags = kit.flags(Flags::default());
    authority::resolve_offered(&offer, &world.settings, &project, profile, flags).unwrap().authority
}

fn leases(authority: &policy::Authority) -> Vec<String> {
    authority.leases.iter().map(ToString::to_string).collect()
}

/// What an agent is lent and finds.
fn files(world: &World, agent: Agent, mode: Mode) -> Vec<(PathBuf, String)> {
    let kit = Kit::of(&world.settings, agent).unwrap();
    let authority = authority::resolve_offered(
        &kit.offer(&world.settings),
        &world.settings,
        &world.settings.project(None).unwrap(),
        None,
        kit.flags(Flags::default()),
    );
    let authority = authority.unwrap().authority;
    let started = (world.settings.clock)();
    let lending = Lending::begin(&kit.offer(&world.settings), &authority, started).unwrap();
    kit.home_files(mode, &world.project, &lending)
}

#[test]
fn a_key_in_a_variable_is_lent_to_one_run_and_no_further_than_is_needed() {
    let world = world(&["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]);
    assert_eq!(
        leases(&resolved(&world, Agent::Claude, None)),
        ["anthropic api.anthropic.com:443 GET,POST /v1/messages/**,/v1/models/**,\
          /api/claude_code/settings/**,/api/claude_code/policy_limits/** \
          in x-api-key as ANTHROPIC_API_KEY"]
    );
    assert_eq!(
        leases(&resolved(&world, Agent::Codex, None)),
        ["openai api.openai.com:443 GET,POST /v1/responses/**,/v1/models/** \
          in authorization: Bearer as OPENAI_API_KEY"]
    );
    let both = leases(&resolved(&world, Agent::Opencode, None));
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(lease::list(&world.settings).unwrap().is_empty(), "nothing is kept");
}

#[test]
fn a_key_that_was_stored_is_lent_where_no_variable_goes_before_it() {
    let mut world = world(&[]);
    let key = names::Secret::new(CANARY.to_owned());
    let provider = "anthropic".to_owned();
    let request = api::LoginRequest { provider, key, keyring: false };
    crate::login::login(&world.settings, &request).unwrap();
    let lent = |world: &World| {
        let kit = Kit::of(&world.settings, Agent::Claude).unwrap();
        let authority = resolved(world, Agent::Claude, None);
        let offer = kit.offer(&world.settings);
        let stored = offer.find("anthropic").unwrap().unwrap();
        assert!(leases(&authority)[0].ends_with("in x-api-key as ANTHROPIC_API_KEY"));
        (stored.source.to_string(), stored.source.read(&world.settings).unwrap())
    };
    let (source, value) = lent(&world);
    assert_eq!((source.as_str(), value.expose().as_str()), ("login:anthropic", CANARY));
    set(&mut world, "ANTHROPIC_API_KEY", "another");
    let (source, value) = lent(&world);
    assert_eq!((source.as_str(), value.expose().as_str()), ("env:ANTHROPIC_API_KEY", "another"));
}

#[test]
fn a_token_and_a_key_of_codex_s_own_are_found() {
    let token = resolved(&world(&["CLAUDE_CODE_OAUTH_TOKEN"]), Agent::Claude, None);
    assert!(leases(&token)[0].ends_with("in authorization: Bearer as CLAUDE_CODE_OAUTH_TOKEN"));
    let own = resolved(&world(&["CODEX_API_KEY", "OPENAI_API_KEY"]), Agent::Codex, None);
    assert!(leases(&own)[0].ends_with("as CODEX_API_KEY"));
}

#[test]
fn without_a_key_it_says_what_would_help() {
    let world = world(&["OPENAI_API_KEY"]);
    let problem = Kit::of(&world.settings, Agent::Claude).unwrap_err();
    assert_eq!(problem.code, exit::UNSAFE);
    let next = problem.next.unwrap();
    for part in ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "no lease anthropic"] {
        assert!(problem.what.contains(part), "{}", problem.what);
    }
    let command = "loop lease add anthropic --host api.anthropic.com --header x-api-key \
                   --env ANTHROPIC_API_KEY --from file:PATH";
    assert!(next.contains(command), "{next}");
    assert!(next.contains("loop login anthropic") && !next.contains("your login"), "{next}");
    world.write(&world.settings.homes.home.join(".claude/.credentials.json"), "{}");
    let next = Kit::of(&world.settings, Agent::Claude).unwrap_err().next.unwrap();
    assert!(next.contains("your login") && next.contains("claude setup-token"), "{next}");
}

#[test]
fn an_empty_variable_is_none() {
    let mut world = World::new();
    set(&mut world, "OPENAI_API_KEY", "");
    assert!(Kit::of(&world.settings, Agent::Codex).is_err());
}

#[test]
fn a_lease_that_the_person_keeps_goes_first() {
    let world = world(&["ANTHROPIC_API_KEY", "KEPT"]);
    keep(&world, "api.anthropic.com", "x-api-key", "ANTHROPIC_API_KEY");
    let authority = resolved(&world, Agent::Claude, None);
    let kept = lease::terms(&world.settings, "anthropic").unwrap().unwrap();
    assert_eq!(authority.leases[0].id, kept.id);
    assert_eq!(
        leases(&authority),
        ["anthropic api.anthropic.com:443 in x-api-key as ANTHROPIC_API_KEY"]
    );
}

#[test]
fn a_kept_lease_that_the_agent_cannot_use_is_refused() {
    for (header, env) in [("authorization", "ANTHROPIC_API_KEY"), ("x-api-key", "MY_KEY")] {
        let world = world(&["KEPT"]);
        keep(&world, "api.anthropic.com", header, env);
        let problem = Kit::of(&world.settings, Agent::Claude).unwrap_err();
        assert!(problem.what.contains("the lease anthropic"), "{problem:?}");
        assert!(problem.next.unwrap().contains("loop lease add anthropic"));
    }
}

#[test]
fn a_gateway_gets_the_key_and_the_provider_does_not() {
    let mut world = world(&["ANTHROPIC_AUTH_TOKEN"]);
    set(&mut world, "ANTHROPIC_BASE_URL", "https://gateway.example.com:8443/team/");
    let authority = resolved(&world, Agent::Claude, None);
    let text = leases(&authority)[0].clone();
    assert!(text.starts_with("anthropic gateway.example.com:8443 GET,POST /team/v1/messages/**,"));
    assert!(text.ends_with("in authorization: Bearer as ANTHROPIC_AUTH_TOKEN"), "{text}");
    let inside = authority.environment.set.get("ANTHROPIC_BASE_URL");
    assert_eq!(inside.unwrap(), "https://gateway.example.com:8443/team/");
    assert!(!authority.network.iter().any(|grant| grant.target.to_string().contains("anthropic")));
}

#[test]
fn a_key_goes_to_https_and_where_its_lease_says() {
    for bad in ["http://127.0.0.1:4000", "https://u:p@gate.example.com", "gate.example.com"] {
        let mut world = world(&["OPENAI_API_KEY"]);
        set(&mut world, "OPENAI_BASE_URL", bad);
        let problem = Kit::of(&world.settings, Agent::Codex).unwrap_err();
        assert_eq!(problem.code, exit::UNSAFE);
        assert!(problem.what.contains("OPENAI_BASE_URL"), "{problem:?}");
    }
    let mut world = world(&["KEPT"]);
    keep(&world, "api.anthropic.com", "x-api-key", "ANTHROPIC_API_KEY");
    set(&mut world, "ANTHROPIC_BASE_URL", "https://gateway.example.com");
    let problem = Kit::of(&world.settings, Agent::Claude).unwrap_err();
    assert!(problem.what.contains("the lease anthropic is for api.anthropic.com"), "{problem:?}");
}

#[test]
fn a_chosen_profile_is_what_the_agent_s_is_put_on() {
    let world = world(&["ANTHROPIC_API_KEY"]);
    let hosts = |authority: &policy::Authority| -> BTreeSet<String> {
        authority.network.iter().map(|grant| grant.target.host.to_string()).collect()
    };
    let own = resolved(&world, Agent::Claude, None);
    assert!(hosts(&own).contains("registry.npmjs.org"));
    let offline = resolved(&world, Agent::Claude, Some("offline"));
    assert_eq!(hosts(&offline), BTreeSet::from(["api.anthropic.com".to_owned()]));
    assert_eq!(offline.environment.set, own.environment.set);
    assert_eq!((own.profile.as_str(), offline.profile.as_str()), ("claude", "claude"));
    let mine = "[profile]\nname = \"mine\"\nextends = \"claude\"\n[limits]\nprocesses = 7\n";
    world.write(&world.settings.profiles().join("mine.toml"), mine);
    let mine = resolved(&world, Agent::Claude, Some("mine"));
    assert_eq!((mine.profile.as_str(), mine.limits.processes), ("mine", Some(7)));
}

#[test]
fn the_home_of_an_agent_is_settled_behind_a_wall_and_asks_in_direct_mode() {
    let world = world(&["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]);
    for agent in [Agent::Claude, Agent::Codex, Agent::Opencode] {
        let walled = files(&world, agent, Mode::Overlay);
        assert_eq!(walled.len(), files(&world, agent, Mode::ReadOnly).len());
        let direct = files(&world, agent, Mode::Direct);
        for (path, text) in walled.iter().chain(&direct) {
            assert!(path.is_relative() && !text.contains("\"$"), "{}: {text}", path.display());
            assert!(!text.contains(CANARY), "{}", path.display());
        }
        let all = |files: &[(PathBuf, String)]| -> String {
            files.iter().map(|(_, text)| text.as_str()).collect()
        };
        let off = ["bypassPermissions", "danger-full-access", "\"permission\": \"allow\""];
        assert_eq!(off.iter().filter(|word| all(&walled).contains(**word)).count(), 1);
        assert!(!off.iter().any(|word| all(&direct).contains(word)), "{}", all(&direct));
    }
}

#[test]
fn files_are_json_and_name_the_project_and_the_provider() {
    let mut world = world(&["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]);
    set(&mut world, "OPENAI_BASE_URL", "https://gateway.example.com/v1");
    let claude = files(&world, Agent::Claude, Mode::Overlay);
    for (_, text) in &claude {
        serde_json::from_str::<serde_json::Value>(text).unwrap();
    }
    let project = world.project.to_str().unwrap();
    assert!(claude.iter().any(|(_, text)| text.contains(project)));
    let codex = &files(&world, Agent::Codex, Mode::Overlay)[0].1;
    assert!(codex.contains("base_url = \"https://gateway.example.com/v1\""), "{codex}");
    assert!(codex.contains("env_key = \"OPENAI_API_KEY\""), "{codex}");
}
