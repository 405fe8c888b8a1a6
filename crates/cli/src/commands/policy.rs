//! `loop policy check`, `show`, `explain` and `test`.

use std::io::{self, Write as _};

use api::{
    AuthorityView, Decision, Engine, ExpectationResult, ExplainRequest, Explanation, Mode,
    PolicyCheckRequest, PolicyShowRequest, PolicyTestReport, PolicyTestRequest, ProfileReport,
    exit,
};

use super::{Done, answer};
use crate::args::{PolicyCheck, PolicyExplain, PolicyShow, PolicyTest};
use crate::console::{Cell, Console, Paint, Table, counted, shown};
use crate::failure::{shown_finding, shown_rule};

pub(super) fn check(args: PolicyCheck, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = PolicyCheckRequest { file: args.file, dir: args.project.dir };
    let report = engine.policy_check(request)?;
    answer(&report, args.json, console, show_check)?;
    Ok(if report.findings.is_empty() { 0 } else { exit::NO })
}

fn show_check(report: &ProfileReport, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let file = shown(&report.file);
    if report.findings.is_empty() {
        let rules = counted(report.rules, "rule");
        let tests = counted(report.expectations, "self-test");
        return writeln!(console.out, "{} {file}: {rules}, {tests}", paint.green("ok"));
    }
    let faults = counted(report.findings.len() as u64, "fault");
    writeln!(console.out, "{} {file}: {faults}", paint.red("bad"))?;
    for finding in &report.findings {
        write!(console.out, "{}", shown_finding(finding))?;
    }
    Ok(())
}

pub(super) fn show(args: PolicyShow, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = PolicyShowRequest { profile: args.profile, dir: args.project.dir };
    answer(&engine.policy_show(request)?, args.json, console, show_authority)?;
    Ok(0)
}

fn show_authority(authority: &AuthorityView, console: &mut Console) -> io::Result<()> {
    let mut table = Table::default();
    let paint = console.out.paint;
    let mut fact = |name: &str, value: String, origin: String| {
        table.row([
            Cell::painted(name, |text| paint.dim(text)),
            Cell::plain(value),
            Cell::painted(&origin, |text| paint.dim(text)),
        ]);
    };
    fact("profile", shown(&authority.profile), authority.digest.to_string());
    fact("subject", shown(&authority.subject), String::new());
    fact(
        "project",
        format!("{}, {}", shown(&authority.project), mode(authority.mode)),
        String::new(),
    );
    for mount in &authority.mounts {
        let value = format!("{} {}", shown(&mount.access), shown(&mount.path));
        fact("mount", value, shown_rule(&mount.origin));
    }
    for (limit, value) in &authority.limits {
        fact("limit", format!("{} {}", shown(limit), shown(value)), String::new());
    }
    for (key, value) in &authority.approvals {
        fact("approvals", format!("{} {}", shown(key), shown(value)), String::new());
    }
    for host in &authority.network {
        fact("network", network(host), shown_rule(&host.origin));
    }
    if authority.network.is_empty() {
        fact("network", "none".into(), String::new());
    }
    for lent in &authority.leases {
        fact("lease", shown(&lent.lease), shown_rule(&lent.origin));
    }
    for line in environment(authority) {
        fact("environment", line, String::new());
    }
    for grant in &authority.grants {
        fact("grant", shown(grant), String::new());
    }
    for rule in &authority.rules {
        let verdict = word(rule.verdict);
        let value = format!("{verdict} {} {}", shown(&rule.action), shown(&rule.matches));
        fact("rule", value, shown_rule(&rule.rule));
    }
    for layer in &authority.layers {
        fact(
            "layer",
            format!("{} {}", shown(&layer.layer), shown(&layer.source)),
            layer.digest.to_string(),
        );
    }
    for key in &authority.ignored_project_keys {
        let place = format!("{}:{}", shown(&key.file), key.line);
        fact("not trusted", shown(&key.key), place);
    }
    for need in &authority.unmet {
        fact(
            "not met",
            format!("{} does not exist yet", shown(&need.gate)),
            shown_rule(&need.origin),
        );
    }
    table.write(&mut console.out, 0)
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Overlay => "overlay",
        Mode::ReadOnly => "read-only",
        Mode::Direct => "direct",
    }
}

fn network(host: &api::NetworkView) -> String {
    let ports: Vec<_> = host.ports.iter().map(u16::to_string).collect();
    let methods = host.methods.join(" ");
    shown(format!("{} {} {methods}", host.host, ports.join(",")).trim_end())
}

fn environment(authority: &AuthorityView) -> Vec<String> {
    let environment = &authority.environment;
    let passed = (!environment.pass.is_empty()).then(|| {
        let names: Vec<_> = environment.pass.iter().map(shown).collect();
        format!("passed: {}", names.join(" "))
    });
    let set = environment.set.iter().map(|(name, value)| shown(format!("{name}={value}")));
    passed.into_iter().chain(set).collect()
}

pub(super) fn explain(args: PolicyExplain, console: &mut Console, engine: &dyn Engine) -> Done {
    let request =
        ExplainRequest { profile: args.profile, dir: args.project.dir, action: args.action };
    answer(&engine.policy_explain(request)?, args.json, console, show_explanation)?;
    Ok(0)
}

fn show_explanation(explanation: &Explanation, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let verdict = paint_decision(explanation.decision, paint);
    writeln!(console.out, "{verdict} {}", shown(&explanation.action))?;
    for name in &explanation.called {
        writeln!(console.out, "  name  {}", shown(name))?;
    }
    writeln!(console.out, "  why   {}", shown(&explanation.reason))?;
    for rule in &explanation.decided_by {
        writeln!(console.out, "  rule  {}", shown_rule(rule))?;
    }
    for lost in &explanation.lost {
        let line = format!("{}: {}", shown_rule(&lost.rule), shown(&lost.why));
        writeln!(console.out, "  lost  {}", paint.dim(&line))?;
    }
    match &explanation.remedy {
        Some(remedy) => writeln!(console.out, "  next  {}", shown(remedy)),
        None => Ok(()),
    }
}

pub(super) fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

fn paint_decision(decision: Decision, paint: Paint) -> String {
    match decision {
        Decision::Allow => paint.green(word(decision)),
        Decision::Ask => paint.yellow(word(decision)),
        Decision::Deny => paint.red(word(decision)),
    }
}

pub(super) fn test(args: PolicyTest, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = PolicyTestRequest { profile: args.profile, dir: args.project.dir };
    let report = engine.policy_test(request)?;
    answer(&report, args.json, console, show_test)?;
    Ok(if report.results.iter().all(holds) { 0 } else { exit::NO })
}

fn holds(result: &ExpectationResult) -> bool {
    result.expected == result.decided
}

fn show_test(report: &PolicyTestReport, console: &mut Console) -> io::Result<()> {
    for result in &report.results {
        show_result(result, console)?;
    }
    let failed = report.results.iter().filter(|result| !holds(result)).count();
    let total = counted(report.results.len() as u64, "self-test");
    let profile = shown(&report.profile);
    match failed {
        0 => writeln!(console.out, "{profile}: {total}, all hold"),
        _ => writeln!(console.out, "{profile}: {total}, {failed} failed"),
    }
}

fn show_result(result: &ExpectationResult, console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let action = shown(&result.action);
    if holds(result) {
        return writeln!(console.out, "{} {action}: {}", paint.green("ok"), word(result.decided));
    }
    let (expected, decided) = (word(result.expected), word(result.decided));
    let bad = paint.red("bad");
    writeln!(console.out, "{bad} {action}: expected {expected}, decided {decided}")?;
    writeln!(console.out, "  from  {}", shown_rule(&result.origin))?;
    for rule in &result.decided_by {
        writeln!(console.out, "  rule  {}", shown_rule(rule))?;
    }
    Ok(())
}
