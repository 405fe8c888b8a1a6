//! `loop policy propose`: what a run would have needed, from its ledger.
//!
//! It must never change a profile: it reads, and tells what could be written.

use std::collections::HashMap;
use std::path::PathBuf;

use api::{
    ObstacleView, Problem, ProposalPlace, ProposalReport, ProposedRule, RiskView, RunRequest,
    Unproposed,
};
use ledger::kind;
use policy::{Action, Authority, Flags, Layer, Observed, Placement};
use serde::Deserialize;

use crate::authority::{Layers, profile_problem};
use crate::inspect;
use crate::policy_commands::decision;
use crate::problem::{OrProblem as _, rule_ref};
use crate::settings::Settings;
use crate::store::{RunDirectory, StoreError};
use crate::story::Verified;

/// What is read of a `denied` or a `learned` record.
#[derive(Deserialize)]
struct Seen {
    action: Action,
    /// What turned the action into a denial.
    because: Option<String>,
    /// Whether the arguments were too large to be recorded.
    #[serde(default)]
    cut: bool,
}

/// Proposes an addition to the profile of a run, from what its ledger says was not allowed.
///
/// # Errors
/// When there is no such run, when its files can't be read, or when its profile can't any more.
pub(crate) fn propose(
    settings: &Settings,
    request: &RunRequest,
) -> Result<ProposalReport, Problem> {
    let run = inspect::find(settings, request)?;
    let start = run.start().or_problem()?;
    let authority = inspect::authority(&run)?;
    let evidence = Evidence::read(&run)?;
    let project = settings.project(Some(&start.project))?;
    let layers = Layers::read(settings, &project, Some(&profile_of(&authority)))?;
    let flags = Flags { mode: Some(authority.mode), ..Flags::default() };
    let name = free_name(settings, &authority);
    let proposal =
        policy::propose(&layers.request(settings, &project, flags), &name, &evidence.observed)
            .map_err(|errors| profile_problem(&errors))?;
    let left_out = proposal.left_out.into_iter().map(unproposed).chain(evidence.left_out);
    Ok(ProposalReport {
        run: run.id,
        learning: evidence.learning,
        profile: authority.profile,
        place: place(settings, proposal.place),
        text: proposal.text,
        additions: proposal.additions.into_iter().map(addition).collect(),
        gained: proposal.reach.gained.iter().map(ToString::to_string).collect(),
        obstacles: proposal.obstacles.iter().map(obstacle).collect(),
        left_out: left_out.collect(),
        allowed: proposal.allowed,
        notes: evidence.notes,
    })
}

/// What a ledger says was not allowed, each action once.
#[derive(Default)]
struct Evidence {
    learning: bool,
    observed: Vec<Observed>,
    left_out: Vec<Unproposed>,
    notes: Vec<String>,
    places: HashMap<Action, usize>,
}

impl Evidence {
    fn read(run: &RunDirectory) -> Result<Self, Problem> {
        let ledger = Verified::read(run, run.is_busy())?;
        let mut evidence = Self::default();
        if let Some(problem) = &ledger.chain.problem {
            let note = "only what is before it counts";
            evidence.notes.push(format!("the ledger is broken: {problem}; {note}"));
        }
        for record in ledger.records() {
            evidence
                .add(&record)
                .map_err(|problem| {
                    let problem = format!("record {} ({}): {problem}", record.seq, record.kind);
                    StoreError::Malformed { path: run.ledger(), problem }
                })
                .or_problem()?;
        }
        Ok(evidence)
    }

    fn add(&mut self, record: &ledger::Record<'_>) -> Result<(), String> {
        match record.kind {
            kind::RUN_START => {
                let start: crate::records::RunStart = parse(record)?;
                self.learning = start.learning;
            }
            kind::DENIED | kind::LEARNED => self.see(parse(record)?),
            _ => {}
        }
        Ok(())
    }

    fn see(&mut self, seen: Seen) {
        let why = match seen.because.as_deref() {
            Some("person") => Some("a person said no"),
            _ if seen.cut => Some("its arguments were too large to be recorded"),
            _ => None,
        };
        if let Some(why) = why {
            let (action, why) = (seen.action.to_string(), why.to_owned());
            self.left_out.push(Unproposed { action, times: 1, why });
            return;
        }
        match self.places.get(&seen.action).and_then(|at| self.observed.get_mut(*at)) {
            Some(known) => known.times = known.times.saturating_add(1),
            None => {
                self.places.insert(seen.action.clone(), self.observed.len());
                self.observed.push(Observed { action: seen.action, times: 1 });
            }
        }
    }
}

fn parse<T: serde::de::DeserializeOwned>(record: &ledger::Record<'_>) -> Result<T, String> {
    record.parse().map_err(|error| error.to_string())
}

/// The profile that a run had, as `--profile` names it: its file, or the name of a built-in one.
fn profile_of(authority: &Authority) -> String {
    let named = authority.layers.iter().find(|layer| layer.layer == Layer::Named);
    let file = named.filter(|layer| !layer.source.starts_with("built-in "));
    file.map_or_else(|| authority.profile.clone(), |layer| layer.source.clone())
}

/// A name for a new profile that no file has: of the profile that it extends, and of the project.
fn free_name(settings: &Settings, authority: &Authority) -> String {
    let project = authority.project.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let project: String = project.chars().map(plain).take(32).collect();
    let first = format!("{}-{}", authority.profile, project.trim_matches('-'));
    let first = first.trim_end_matches('-').to_owned();
    let numbered = (2_u32..).map(|number| format!("{first}-{number}"));
    let free = |name: &String| !profile_file(settings, name).exists();
    let name = std::iter::once(first.clone()).chain(numbered).find(free);
    name.unwrap_or(first)
}

fn profile_file(settings: &Settings, name: &str) -> PathBuf {
    settings.profiles().join(format!("{name}.toml"))
}

fn place(settings: &Settings, place: Placement) -> ProposalPlace {
    match place {
        Placement::Append(file) => ProposalPlace { file: file.into(), create: false },
        Placement::Create(name) => {
            ProposalPlace { file: profile_file(settings, &name), create: true }
        }
    }
}

fn addition(addition: policy::Addition) -> ProposedRule {
    let risk = |risk: policy::Risk| RiskView { class: risk.class.to_string(), why: risk.why };
    ProposedRule {
        id: addition.id,
        allows: addition.allows,
        times: addition.times,
        example: addition.example,
        risks: addition.risks.into_iter().map(risk).collect(),
    }
}

fn obstacle(obstacle: &policy::Obstacle) -> ObstacleView {
    let lines = |gained: &Vec<policy::Reach>| gained.iter().map(ToString::to_string).collect();
    ObstacleView {
        rule: rule_ref(&obstacle.rule),
        layer: obstacle.rule.layer.to_string(),
        says: decision(obstacle.rule.says),
        times: obstacle.times,
        example: obstacle.example.clone(),
        reason: obstacle.reason.clone(),
        lifting: obstacle.lifting.as_ref().map(lines),
    }
}

fn unproposed(left_out: policy::LeftOut) -> Unproposed {
    Unproposed { action: left_out.action, times: left_out.times, why: left_out.why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::fixture::World;
    use api::Decision;
    use broker::Broker;
    use ledger::Ledger;

    const PROFILE: &str = "\
[profile]
name = \"mine\"
extends = \"offline\"

[defaults]
exec = \"ask\"
";

    /// Requests in a run of the world's project, by the broker of a learning or an enforced run.
    fn requested(world: &World, learning: bool, programs: &[&str]) {
        let run = world.interrupted_under(Some("mine.toml"), learning);
        let authority = Arc::new(inspect::authority(&run).unwrap());
        let ledger = Ledger::reopen(&run.ledger(), &run.id, world.settings.clock).unwrap();
        let broker = Broker::new(authority, ledger);
        let broker = if learning { broker.learning() } else { broker };
        for program in programs {
            let args = vec!["push".to_owned()];
            let exec = policy::Exec::new(format!("/usr/bin/{program}"), args, &world.project);
            assert_eq!(broker.request(exec).is_ok(), learning);
        }
    }

    fn proposed(world: &World) -> ProposalReport {
        propose(&world.settings, &world.newest()).unwrap()
    }

    fn world() -> World {
        let world = World::new();
        world.file("mine.toml", PROFILE);
        world
    }

    #[test]
    fn what_a_run_learned_or_was_refused_is_proposed() {
        for learning in [true, false] {
            let world = world();
            requested(&world, learning, &["git", "hg", "git"]);
            let report = proposed(&world);
            assert_eq!((report.learning, report.profile.as_str()), (learning, "mine"));
            let told: Vec<_> =
                report.additions.iter().map(|one| (one.id.as_str(), one.times)).collect();
            assert_eq!(told, [("learned-git", 2), ("learned-hg", 1)]);
            assert_eq!(report.place.file, world.project.join("mine.toml"));
            assert!(!report.place.create);
            assert_eq!(report.gained.len(), 2);
        }
    }

    #[test]
    fn a_followed_proposal_leaves_nothing_to_propose() {
        let world = world();
        requested(&world, true, &["git"]);
        let report = proposed(&world);
        world.file("mine.toml", &format!("{PROFILE}\n{}", report.text));
        let report = proposed(&world);
        assert_eq!((report.allowed, report.text.as_str()), (1, ""));
        assert!(report.obstacles.is_empty() && report.left_out.is_empty());
    }

    #[test]
    fn a_rule_of_the_owner_stays_in_the_way() {
        let world = world();
        let rule = "[[rule]]\nid = \"no-git\"\naction = \"exec\"\nprogram = \"git\"\n\
                    verdict = \"deny\"\n";
        world.write(&world.settings.owner_file(), rule);
        requested(&world, true, &["git", "git"]);
        let report = proposed(&world);
        assert_eq!(report.text, "");
        let obstacle = &report.obstacles[0];
        assert_eq!((obstacle.rule.id.as_str(), obstacle.rule.line), ("no-git", 1));
        assert_eq!((obstacle.says, obstacle.times), (Decision::Deny, 2));
        assert_eq!((obstacle.layer.as_str(), &obstacle.lifting), ("owner", &None));
    }

    #[test]
    fn a_built_in_profile_gets_a_new_file_beside_it() {
        let world = World::new();
        let run = world.interrupted(&[]);
        let body = serde_json::json!({
            "action": {"action": "connect", "host": "example.com", "port": 443},
            "because": "verdict",
        });
        let ledger = Ledger::reopen(&run.ledger(), &run.id, world.settings.clock).unwrap();
        ledger.commit(kind::DENIED, &body).unwrap();
        drop(ledger);
        let report = proposed(&world);
        let file = world.settings.profiles().join("offline-project.toml");
        assert_eq!(report.place, ProposalPlace { file: file.clone(), create: true });
        assert!(report.text.contains("name = \"offline-project\"\nextends = \"offline\"\n"));
        world.write(&file, &report.text);
        let project = world.settings.project(None).unwrap();
        let named = crate::authority::resolve(
            &world.settings,
            &project,
            Some("offline-project"),
            Flags::default(),
        );
        assert_eq!(named.unwrap().authority.network.len(), 1);
        assert!(proposed(&world).place.file.ends_with("offline-project-2.toml"));
    }

    #[test]
    fn what_a_person_refused_is_not_proposed() {
        let world = World::new();
        let run = world.interrupted(&[]);
        let ledger = Ledger::reopen(&run.ledger(), &run.id, world.settings.clock).unwrap();
        let exec = policy::Exec::new("/usr/bin/git", vec![], "/");
        for (because, cut) in [("person", false), ("too-large", true)] {
            let action = Action::from(exec.clone());
            let body = serde_json::json!({"action": action, "because": because, "cut": cut});
            ledger.commit(kind::DENIED, &body).unwrap();
        }
        drop(ledger);
        let report = proposed(&world);
        let why: Vec<_> = report.left_out.iter().map(|out| out.why.as_str()).collect();
        assert_eq!(why, ["a person said no", "its arguments were too large to be recorded"]);
        assert_eq!((report.text.as_str(), report.allowed), ("", 0));
    }

    #[test]
    fn a_record_that_says_nothing_names_the_file() {
        let world = World::new();
        let run = world.interrupted(&[]);
        let ledger = Ledger::reopen(&run.ledger(), &run.id, world.settings.clock).unwrap();
        ledger.commit(kind::LEARNED, &serde_json::json!({})).unwrap();
        drop(ledger);
        let problem = propose(&world.settings, &world.newest()).unwrap_err();
        assert!(problem.what.contains("ledger.jsonl"), "{}", problem.what);
    }
}
