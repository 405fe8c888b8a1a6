//! `loop policy check`, `show`, `explain` and `test`: the evaluation that enforces, asked.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use api::{
    AuthorityView, Decision, EnvironmentView, ExpectationResult, ExplainRequest, Explanation,
    IgnoredKey, LayerView, LentView, LostRule, MountView, NeedView, NetworkView,
    PolicyCheckRequest, PolicyShowRequest, PolicyTestReport, PolicyTestRequest, Problem,
    ProfileReport, RuleRef, RuleView,
};
use names::printable;
use policy::{
    Action, ActionError, AskLimits, Authority, Cause, Checked, Flags, Layer, Limits, Mode,
    NetworkGrant, Origin, Outcome, Place, Resolved,
};

use sandbox::environment;

use crate::authority::{self, Layers};
use crate::exec;
use crate::problem::{OrProblem as _, rule_ref};
use crate::settings::Settings;

/// `loop policy check`: whether a file loads as a profile, with everything that is wrong with it.
pub(crate) fn check(
    settings: &Settings,
    request: &PolicyCheckRequest,
) -> Result<ProfileReport, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let file = settings.absolute(&request.file);
    let name = file.to_string_lossy();
    let layers = Layers::read(settings, &project, Some(&name))?;
    let mut report = ProfileReport {
        file: file.clone(),
        name: None,
        findings: Vec::new(),
        rules: 0,
        expectations: 0,
    };
    let request = || layers.request(settings, &project, Flags::default());
    let tested = policy::check_expectations(request());
    match policy::resolve(request()) {
        Ok(resolved) => {
            report.findings = authority::missing_mounts(&resolved.authority);
            report.rules = own_rules(&resolved.authority);
            report.name = Some(resolved.authority.profile);
        }
        Err(errors) => report.findings = authority::findings(&errors),
    }
    if let Ok(checked) = tested {
        report.expectations = checked.iter().filter(|one| one.origin.source == name).count() as u64;
    }
    Ok(report)
}

/// The rules of the profile and those it extends.
fn own_rules(authority: &Authority) -> u64 {
    authority.rules.iter().filter(|rule| rule.layer == Layer::Named).count() as u64
}

/// `loop policy show`: what a run would be frozen to.
pub(crate) fn show(
    settings: &Settings,
    request: &PolicyShowRequest,
) -> Result<AuthorityView, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let profile = request.profile.as_deref();
    authority::resolve_without_mounts(settings, &project, profile, Flags::default()).map(view)
}

fn view(resolved: Resolved) -> AuthorityView {
    let Resolved { authority, ignored } = resolved;
    let digest = authority.digest();
    let unmet = crate::prepare::unmet(&authority)
        .into_iter()
        .map(|need| NeedView { gate: need.gate.to_string(), origin: origin_ref(&need.origin) });
    AuthorityView {
        digest,
        unmet: unmet.collect(),
        mode: mode(authority.mode),
        mounts: authority.mounts.iter().map(mount_view).collect(),
        limits: limit_texts(&authority.limits),
        approvals: approval_texts(&authority),
        network: authority.network.iter().map(network_view).collect(),
        leases: authority.leases.iter().map(lent_view).collect(),
        rules: authority.rules.iter().map(rule_view).collect(),
        grants: grants(&authority),
        layers: authority.layers.iter().map(layer_view).collect(),
        ignored_project_keys: ignored_keys(&ignored),
        profile: authority.profile,
        subject: authority.subject,
        project: authority.project,
        environment: EnvironmentView {
            pass: authority.environment.pass,
            set: authority.environment.set,
        },
    }
}

/// How a run treats the workspace, for a client.
pub(crate) fn mode(mode: Mode) -> api::Mode {
    match mode {
        Mode::Overlay => api::Mode::Overlay,
        Mode::ReadOnly => api::Mode::ReadOnly,
        Mode::Direct => api::Mode::Direct,
    }
}

fn mount_view(mount: &policy::Mount) -> MountView {
    MountView {
        path: mount.path.clone(),
        access: mount.access.to_string(),
        origin: origin_ref(&mount.origin),
    }
}

/// How a person is asked, where a run may ask.
fn approval_texts(authority: &Authority) -> BTreeMap<String, String> {
    if !authority.may_ask() {
        return BTreeMap::new();
    }
    let AskLimits { timeout, max_waiting, max_per_minute } = authority.approvals;
    let texts = [
        ("timeout", timeout.to_string()),
        ("max_waiting", max_waiting.to_string()),
        ("max_per_minute", max_per_minute.to_string()),
    ];
    texts.into_iter().map(|(key, text)| (key.to_owned(), text)).collect()
}

/// The limits that hold: key to value, as a profile writes them.
pub(crate) fn limit_texts(limits: &Limits) -> BTreeMap<String, String> {
    let Limits { memory, cpus, processes, disk, wall, output, steps, tokens, money } = limits;
    let texts = [
        ("memory", memory.map(|limit| limit.to_string())),
        ("cpus", cpus.map(|limit| limit.to_string())),
        ("processes", processes.map(|limit| limit.to_string())),
        ("disk", disk.map(|limit| limit.to_string())),
        ("wall", wall.map(|limit| limit.to_string())),
        ("output", output.map(|limit| limit.to_string())),
        ("steps", steps.map(|limit| limit.to_string())),
        ("tokens", tokens.map(|limit| limit.to_string())),
        ("money", money.map(|limit| limit.to_string())),
    ];
    texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?))).collect()
}

fn network_view(grant: &NetworkGrant) -> NetworkView {
    let ports = grant.target.ports.iter().flatten().map(|port| port.number());
    let methods = grant.target.methods.iter().flatten().map(ToString::to_string);
    NetworkView {
        host: grant.target.host.to_string(),
        ports: ports.collect(),
        methods: methods.collect(),
        origin: origin_ref(&grant.origin),
    }
}

fn lent_view(lease: &policy::LeaseGrant) -> LentView {
    LentView { lease: lease.to_string(), origin: origin_ref(&lease.origin) }
}

fn rule_view(rule: &policy::Rule) -> RuleView {
    RuleView {
        rule: RuleRef { id: rule.id.clone(), ..origin_ref(&rule.origin) },
        action: rule.when.kind().to_string(),
        matches: rule.when.to_string(),
        verdict: decision(rule.verdict),
        reason: rule.reason.clone(),
    }
}

fn grants(authority: &Authority) -> Vec<String> {
    let grants = [
        ("toolchains", authority.grants.toolchains),
        ("user-namespaces", authority.grants.user_namespaces),
    ];
    grants.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()).collect()
}

fn layer_view(layer: &policy::LayerDigest) -> LayerView {
    LayerView { layer: layer.layer.to_string(), source: layer.source.clone(), digest: layer.digest }
}

/// What of a project's configuration doesn't count, for a client.
pub(crate) fn ignored_keys(ignored: &[policy::Ignored]) -> Vec<IgnoredKey> {
    let key = |ignored: &policy::Ignored| IgnoredKey {
        key: ignored.origin.key.clone(),
        file: ignored.origin.source.clone(),
        line: ignored.origin.line,
    };
    ignored.iter().map(key).collect()
}

/// A place that is no rule's: its key stands for an id.
fn origin_ref(origin: &Origin) -> RuleRef {
    RuleRef { id: origin.key.clone(), file: origin.source.clone(), line: origin.line }
}

pub(crate) fn decision(outcome: Outcome) -> Decision {
    match outcome {
        Outcome::Allow => Decision::Allow,
        Outcome::Ask => Decision::Ask,
        Outcome::Deny => Decision::Deny,
    }
}

/// `loop policy explain`: what would be decided about an action.
pub(crate) fn explain(
    settings: &Settings,
    request: &ExplainRequest,
) -> Result<Explanation, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let profile = request.profile.as_deref();
    let resolved =
        authority::resolve_without_mounts(settings, &project, profile, Flags::default())?;
    let place = Place { cwd: project.directory, home: settings.homes.home.clone() };
    let words = words(&request.action).or_problem()?;
    let action = Action::parse_words(&words, &place).or_problem()?;
    let action = as_found(settings, &resolved.authority, &words, action);
    let verdict = resolved.authority.decide(&action);
    Ok(Explanation {
        action: action.to_string(),
        called: called(&action),
        profile: resolved.authority.profile,
        decision: decision(verdict.outcome),
        decided_by: verdict.decided_by.iter().map(rule_ref).collect(),
        lost: verdict.lost.iter().map(|cause| lost(verdict.outcome, cause)).collect(),
        reason: verdict.reason,
        remedy: verdict.remedy,
    })
}

/// An action in one argument is split as a shell would split it; in several, each is a word.
fn words(arguments: &[String]) -> Result<Vec<String>, ActionError> {
    match arguments {
        [one] => Action::split(one),
        several => Ok(several.to_vec()),
    }
}

/// The program of an action as a run would find it here: on the search path, its links followed.
/// One that isn't here stays as it was written.
fn as_found(
    settings: &Settings,
    authority: &Authority,
    words: &[String],
    action: Action,
) -> Action {
    let Action::Exec(exec) = action else { return action };
    let written = words.get(1).filter(|word| !word.contains('/') && !word.starts_with('~'));
    let name = written.map_or(exec.program.as_os_str(), |word| OsStr::new(word));
    let home = &settings.homes.home;
    let environment =
        environment(&authority.environment, home, &settings.user, &settings.environment);
    let found = exec::program(name, environment.value("PATH"), &exec.cwd, exec.args.clone());
    Action::Exec(if found.program.is_file() { found } else { exec })
}

/// The layer of a rule has no say: only what the rules say is compared.
fn lost(won: Outcome, cause: &Cause) -> LostRule {
    let why = format!("{won} beats {}", cause.says);
    LostRule { rule: rule_ref(cause), says: decision(cause.says), why }
}

fn called(action: &Action) -> Vec<String> {
    let Action::Exec(exec) = action else { return Vec::new() };
    exec.called.iter().map(|path| printable(path.as_os_str().as_encoded_bytes())).collect()
}

/// `loop policy test`: the self-tests of everything that counts, and how each went.
pub(crate) fn test(
    settings: &Settings,
    request: &PolicyTestRequest,
) -> Result<PolicyTestReport, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let layers = Layers::read(settings, &project, request.profile.as_deref())?;
    let request = || layers.request(settings, &project, Flags::default());
    let checked = policy::check_expectations(request())
        .map_err(|errors| authority::profile_problem(&errors))?;
    Ok(PolicyTestReport {
        profile: layers.name().to_owned(),
        results: checked.iter().map(result).collect(),
    })
}

fn result(checked: &Checked) -> ExpectationResult {
    ExpectationResult {
        action: checked.action.to_string(),
        expected: decision(checked.expected),
        decided: decision(checked.verdict.outcome),
        decided_by: checked.verdict.decided_by.iter().map(rule_ref).collect(),
        origin: origin_ref(&checked.origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use api::exit;

    const PROFILE: &str = "\
[profile]
name = \"mine\"
extends = \"offline\"

[[rule]]
id = \"no-publish\"
action = \"exec\"
program = \"cargo\"
args = [\"publish\", \"**\"]
verdict = \"deny\"
reason = \"publishing can't be undone\"

[[expect]]
action = \"connect\"
host = \"example.com\"
verdict = \"deny\"

[[expect]]
action = \"exec\"
program = \"cargo\"
args = [\"publish\"]
verdict = \"allow\"
";

    fn world() -> World {
        let world = World::new();
        world.file("mine.toml", PROFILE);
        world
    }

    fn checked(world: &World, file: &str) -> Result<ProfileReport, Problem> {
        check(&world.settings, &PolicyCheckRequest { file: file.into(), dir: None })
    }

    #[test]
    fn a_check_tells_faults_as_its_answer() {
        let world = world();
        let report = checked(&world, "mine.toml").unwrap();
        assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
        assert_eq!(report.findings[0].line, Some(18));
        assert_eq!(report.expectations, 2);
        world.file("mine.toml", &PROFILE.replace("verdict = \"allow\"", "verdict = \"deny\""));
        let report = checked(&world, "mine.toml").unwrap();
        assert_eq!((report.findings, report.name.as_deref()), (vec![], Some("mine")));
        assert_eq!(checked(&world, "none.toml").unwrap_err().code, exit::NOT_FOUND);
    }

    #[test]
    fn a_test_tells_each_expectation() {
        let world = world();
        let request = PolicyTestRequest { profile: Some("mine.toml".to_owned()), dir: None };
        let report = test(&world.settings, &request).unwrap();
        let outcomes: Vec<_> =
            report.results.iter().map(|result| (result.expected, result.decided)).collect();
        let own = &outcomes[..2];
        assert_eq!(own, [(Decision::Deny, Decision::Deny), (Decision::Allow, Decision::Deny)]);
        assert_eq!(report.results[1].decided_by[0].id, "no-publish");
    }

    #[test]
    fn an_explanation_names_the_rule_and_the_way() {
        let world = world();
        world.file("mine.toml", &PROFILE.replace("verdict = \"allow\"", "verdict = \"deny\""));
        let ask = |words: &[&str]| {
            let action = words.iter().map(|&word| word.to_owned()).collect();
            let profile = Some("mine.toml".to_owned());
            explain(&world.settings, &ExplainRequest { profile, dir: None, action })
        };
        let told = ask(&["exec", "cargo", "publish", "--dry-run"]).unwrap();
        assert_eq!(told.decision, Decision::Deny);
        assert_eq!((told.decided_by[0].id.as_str(), told.decided_by[0].line), ("no-publish", 5));
        assert_eq!(told.reason, "publishing can't be undone");
        assert_eq!(ask(&["exec cargo publish --dry-run"]).unwrap(), told);
        assert_eq!(ask(&["exec  'cargo' \"publish\" --dry-run"]).unwrap(), told);
        assert_eq!(ask(&["exec 'cargo"]).unwrap_err().code, exit::USAGE);
        assert_eq!(ask(&["exec", "cargo", "build"]).unwrap().decision, Decision::Allow);
        assert_eq!(ask(&["connect", "example.com:443"]).unwrap().decision, Decision::Deny);
        assert_eq!(ask(&["conect", "example.com:443"]).unwrap_err().code, exit::USAGE);
    }

    #[test]
    fn an_explanation_tells_what_lost_and_why() {
        let world = World::new();
        let rules = ["deny", "allow", "ask"].map(|verdict| {
            let args = if verdict == "deny" { "args = [\"push\", \"**\"]\n" } else { "" };
            let cwd = if verdict == "ask" { "cwd = \"/**\"\n" } else { "" };
            format!(
                "[[rule]]\nid = \"{verdict}-it\"\naction = \"exec\"\nprogram = \"git\"\n\
                 {args}{cwd}verdict = \"{verdict}\"\n"
            )
        });
        world.write(&world.settings.owner_file(), &rules.concat());
        let action = vec!["exec git push origin main".to_owned()];
        let request = ExplainRequest { action, ..ExplainRequest::default() };
        let told = explain(&world.settings, &request).unwrap();
        assert_eq!(told.decided_by[0].id, "deny-it");
        let lost: Vec<_> =
            told.lost.iter().map(|lost| (lost.rule.id.as_str(), lost.why.as_str())).collect();
        assert_eq!(lost, [("allow-it", "deny beats allow"), ("ask-it", "deny beats ask")]);
        assert_eq!(told.lost[0].rule.line, 7);
    }

    #[test]
    fn a_program_is_the_file_that_would_run() {
        let mut world = world();
        world.file("mine.toml", &PROFILE.replace("verdict = \"allow\"", "verdict = \"deny\""));
        let bin = world.project.join("bin");
        world.file("bin/cargo-real", "");
        std::os::unix::fs::symlink("cargo-real", bin.join("cargo")).unwrap();
        world.settings.environment.insert("PATH".into(), bin.clone().into());
        let action = vec!["exec cargo publish".to_owned()];
        let profile = Some("mine.toml".to_owned());
        let told =
            explain(&world.settings, &ExplainRequest { profile, dir: None, action }).unwrap();
        assert_eq!(told.action, format!("exec {} publish", bin.join("cargo-real").display()));
        assert_eq!(told.called, [bin.join("cargo").display().to_string()]);
        assert_eq!(told.decided_by[0].id, "no-publish");
    }

    #[test]
    fn an_authority_is_shown_whole() {
        let world = World::new();
        let view = show(&world.settings, &PolicyShowRequest::default()).unwrap();
        assert_eq!((view.profile.as_str(), view.subject.as_str()), ("offline", "ada"));
        assert_eq!(view.limits.get("memory").map(String::as_str), Some("8GiB"));
        assert_eq!(view.mode, api::Mode::Overlay);
        assert!(view.network.is_empty() && view.unmet.is_empty());
        assert!(view.grants.contains(&"toolchains".to_owned()));
        let develop = PolicyShowRequest { profile: Some("develop".to_owned()), dir: None };
        let view = show(&world.settings, &develop).unwrap();
        assert!(!view.network.is_empty() && view.unmet.is_empty());
        world.write(
            &world.settings.owner_file(),
            "[[rule]]\naction = \"docker\"\nverdict = \"allow\"\n",
        );
        let view = show(&world.settings, &develop).unwrap();
        assert_eq!(view.unmet[0].gate, "docker");
    }

    #[test]
    fn how_a_person_is_asked_is_shown_where_a_run_may_ask() {
        let world = World::new();
        let quiet = show(&world.settings, &PolicyShowRequest::default()).unwrap();
        assert!(quiet.approvals.is_empty());
        let rule =
            "[[rule]]\nid = \"no-push\"\naction = \"exec\"\nprogram = \"git\"\nverdict = \"ask\"\n";
        let owner = format!("[approvals]\ntimeout = \"90s\"\n\n{rule}");
        world.write(&world.settings.owner_file(), &owner);
        let asks = show(&world.settings, &PolicyShowRequest::default()).unwrap();
        let texts: Vec<_> =
            asks.approvals.iter().map(|(key, text)| format!("{key} {text}")).collect();
        assert_eq!(texts, ["max_per_minute 30", "max_waiting 16", "timeout 1m30s"]);
        // The gate that a rule on programs needs is there.
        assert!(asks.unmet.is_empty());
    }
}
