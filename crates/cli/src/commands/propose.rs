//! `loop policy propose`: a proposal, all of which can be pasted into a profile.
//!
//! Whatever is no rule is a comment, so that `>>` into a file does no harm.

use std::io::{self, Write as _};

use api::{Engine, ObstacleView, ProposalReport, RunRequest, Unproposed};

use super::policy::word;
use super::{Done, answer};
use crate::args::PolicyPropose;
use crate::console::{Console, counted, shown};
use crate::failure::shown_rule;

pub(super) fn propose(args: PolicyPropose, console: &mut Console, engine: &dyn Engine) -> Done {
    let request = RunRequest { run: args.run, dir: args.project.dir };
    answer(&engine.policy_propose(request)?, args.json, console, show)?;
    Ok(0)
}

fn show(report: &ProposalReport, console: &mut Console) -> io::Result<()> {
    let mut comments = head(report);
    comments.extend(report.notes.iter().map(shown));
    write_comments(&comments, console)?;
    if !report.text.is_empty() {
        writeln!(console.out, "\n{}", shown_lines(&report.text))?;
    }
    for (title, lines) in [
        ("what becomes possible:", gained(report)),
        ("what stands in the way:", report.obstacles.iter().flat_map(obstacle).collect()),
        ("what is not proposed:", report.left_out.iter().map(left_out).collect()),
    ] {
        if !lines.is_empty() {
            let lines = lines.into_iter().map(|line| format!("  {line}"));
            write_comments(
                &[title.to_owned()].into_iter().chain(lines).collect::<Vec<_>>(),
                console,
            )?;
        }
    }
    Ok(())
}

fn head(report: &ProposalReport) -> Vec<String> {
    let learning = if report.learning { ", a learning run" } else { "" };
    let profile = shown(&report.profile);
    let file = shown(&report.place.file);
    let next = match (report.text.is_empty(), report.place.create) {
        (true, _) => "nothing to add".to_owned(),
        (false, true) => format!("save this as {file}, and use it with --profile"),
        (false, false) => format!("append this to {file}"),
    };
    let run = report.run.as_str();
    let mut lines = vec![
        format!("run {run} under profile {profile}{learning}; nothing is added by itself"),
        next,
    ];
    if report.allowed > 0 {
        let allowed = counted(report.allowed, "action");
        lines.push(format!("the profile allows {allowed} by now that it did not allow then"));
    }
    lines
}

fn gained(report: &ProposalReport) -> Vec<String> {
    report.gained.iter().map(|line| format!("+ {}", shown(line))).collect()
}

fn obstacle(obstacle: &ObstacleView) -> Vec<String> {
    let (says, rule) = (word(obstacle.says), shown_rule(&obstacle.rule));
    let (times, example) = (counted(obstacle.times, "time"), shown(&obstacle.example));
    let reason = shown(&obstacle.reason);
    let stands = format!("{says} by {rule}, {times}, as: {example}: {reason}");
    let layer = shown(&obstacle.layer);
    let lifting = match &obstacle.lifting {
        None => vec![format!("  it is of the layer {layer}, and no profile lifts it")],
        Some(gained) => {
            let gained = gained.iter().map(|line| format!("    + {}", shown(line)));
            let title = "  no addition outweighs it; narrow it, or without it becomes possible:";
            [title.to_owned()].into_iter().chain(gained).collect()
        }
    };
    [stands].into_iter().chain(lifting).collect()
}

fn left_out(left_out: &Unproposed) -> String {
    let (times, why) = (counted(left_out.times, "time"), shown(&left_out.why));
    format!("{}, {times}: {why}", shown(&left_out.action))
}

fn write_comments(lines: &[String], console: &mut Console) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(console.out, "# {line}"))
}

/// Several lines, each harmless.
fn shown_lines(text: &str) -> String {
    names::printable_lines(text.as_bytes())
}
